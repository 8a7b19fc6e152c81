// SPDX-License-Identifier: BSD-3-Clause
// crc32: the checksum of IEEE 802.3, so that any other program (zlib, Python) can recompute it.
#ifndef UFX_TOOLS_COMMON_CRC32_H
#define UFX_TOOLS_COMMON_CRC32_H

#include <cstddef>
#include <cstdint>

namespace ufx::tools {

/** Of `length` bytes; `seed` is the value for the bytes before them, 0 at the start. */
uint32_t crc32(const void *data, size_t length, uint32_t seed = 0);

} // namespace ufx::tools

#endif
