// SPDX-License-Identifier: BSD-3-Clause
// What a provider writes into its queues, byte by byte.
#ifndef UFX_TEST_SWHCA_RIG_BYTES_H
#define UFX_TEST_SWHCA_RIG_BYTES_H

#include "rig.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ufx::test {

using bytes = std::vector<uint8_t>;

inline void be16(bytes &to, uint16_t value)
{
    to.push_back(static_cast<uint8_t>(value >> 8));
    to.push_back(static_cast<uint8_t>(value));
}

inline void be32(bytes &to, uint32_t value)
{
    be16(to, static_cast<uint16_t>(value >> 16));
    be16(to, static_cast<uint16_t>(value));
}

inline void be64(bytes &to, uint64_t value)
{
    be32(to, static_cast<uint32_t>(value >> 32));
    be32(to, static_cast<uint32_t>(value));
}

inline void data_segment(bytes &to, const region &of, size_t offset, uint32_t length)
{
    be32(to, length);
    be32(to, of.key);
    be64(to, of.at(offset));
}

inline uint32_t swap(uint32_t value)
{
    return __builtin_bswap32(value);
}

} // namespace ufx::test

#endif
