// SPDX-License-Identifier: BSD-3-Clause
// What is mapped in this process: registering memory that is not there must fail, as pinning would.
#ifndef UFX_SWHCA_ENGINE_ADDRESS_SPACE_H
#define UFX_SWHCA_ENGINE_ADDRESS_SPACE_H

#include <cstdint>

namespace ufx::swhca {

[[nodiscard]] bool is_mapped(uint64_t start, uint64_t length) noexcept;

} // namespace ufx::swhca

#endif
