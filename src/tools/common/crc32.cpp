// SPDX-License-Identifier: BSD-3-Clause
// CRC-32, eight bytes a step: table k advances a byte over k more bytes of zeros.
#include "tools/common/crc32.h"

#include <array>

namespace ufx::tools {

namespace {

constexpr uint32_t POLYNOMIAL = 0xedb88320u; // IEEE 802.3, bits reversed
constexpr size_t STEP = 8;
using table = std::array<std::array<uint32_t, 256>, STEP>;

constexpr table make_table()
{
    table t = {};
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1) ^ ((value & 1u) != 0 ? POLYNOMIAL : 0u);
        }
        t[0][byte] = value;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (size_t k = 1; k < STEP; k++) {
            t[k][byte] = (t[k - 1][byte] >> 8) ^ t[0][t[k - 1][byte] & 0xffu];
        }
    }
    return t;
}

constexpr table TABLE = make_table();

} // namespace

uint32_t crc32(const void *data, size_t length, uint32_t seed)
{
    const auto *p = static_cast<const unsigned char *>(data);
    uint32_t crc = ~seed;
    for (; length >= STEP; length -= STEP, p += STEP) {
        crc = TABLE[7][(crc ^ p[0]) & 0xffu] ^ TABLE[6][((crc >> 8) ^ p[1]) & 0xffu] ^
              TABLE[5][((crc >> 16) ^ p[2]) & 0xffu] ^ TABLE[4][(crc >> 24) ^ p[3]] ^
              TABLE[3][p[4]] ^ TABLE[2][p[5]] ^ TABLE[1][p[6]] ^ TABLE[0][p[7]];
    }
    for (; length > 0; length--, p++) {
        crc = (crc >> 8) ^ TABLE[0][(crc ^ *p) & 0xffu];
    }
    return ~crc;
}

} // namespace ufx::tools
