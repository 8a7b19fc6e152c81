// SPDX-License-Identifier: BSD-3-Clause
// The length of a store instruction of x86-64, so that a handler can skip it.
#ifndef UFX_SWHCA_SHIM_STORE_DECODER_H
#define UFX_SWHCA_SHIM_STORE_DECODER_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace ufx::swhca::shim {

struct store_instruction {
    size_t length;        // 0: not a store that is known
    uint8_t string_bytes; // of one step of MOVS or STOS, else 0
    bool is_movs;
    bool repeated;
};

[[nodiscard]] store_instruction decode_store(std::span<const uint8_t> code) noexcept;

} // namespace ufx::swhca::shim

#endif
