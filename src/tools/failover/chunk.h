// SPDX-License-Identifier: BSD-3-Clause
// The header of every chunk: what the receiver checks it by.
//
// 56 bytes, little endian:
//   0 magic u32   4 kind u32     8 seq u64    16 stamp_ns u64  24 offset u64
//  32 length u32  36 crc u32    40 order u64  48 slot u32      52 header crc u32 (of bytes 0..51)
#ifndef UFX_TOOLS_FAILOVER_CHUNK_H
#define UFX_TOOLS_FAILOVER_CHUNK_H

#include "tools/failover/options.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ufx::tools::failover {

constexpr size_t CHUNK_HEADER = 56;
/** Space before the payload of a put, so that the payload is aligned. */
constexpr size_t SLOT_HEADER = 64;

/** Active message ids. */
enum am_id : uint16_t {
    AM_CHUNK = 1,  ///< sender: a chunk, or the announcement of a put; header is a chunk header
    AM_CREDIT = 2, ///< receiver: slots that may be used again, u32 each
    AM_END = 3,    ///< sender: that was all; payload is JSON
    AM_RESULT = 4  ///< receiver: what it found; payload is JSON
};

struct chunk_header {
    chunk_kind kind = chunk_kind::AM;
    uint64_t seq = 0;      ///< number of the chunk in the run, from 0
    uint64_t stamp_ns = 0; ///< sender's clock when it was sent
    uint64_t offset = 0;   ///< in the file
    uint32_t length = 0;   ///< of the payload
    uint32_t crc = 0;      ///< of the payload
    uint64_t order = 0;    ///< number of the active message in the sender's sequence, from 0
    uint32_t slot = 0;     ///< in the landing zone, for puts
};

using chunk_bytes = std::array<unsigned char, CHUNK_HEADER>;

chunk_bytes encode(const chunk_header &header);

/** Nothing if these are not the bytes of a header. */
std::optional<chunk_header> decode(const void *data, size_t length);

/** How a file is cut into chunks: seq goes round and round over the file. */
struct geometry {
    uint64_t file_bytes = 0;
    uint32_t chunk = 0;

    uint64_t chunks_per_pass() const { return (file_bytes + chunk - 1) / chunk; }
    uint64_t offset(uint64_t seq) const { return seq % chunks_per_pass() * chunk; }
    uint32_t length(uint64_t seq) const
    {
        const uint64_t left = file_bytes - offset(seq);
        return left < chunk ? static_cast<uint32_t>(left) : chunk;
    }
};

} // namespace ufx::tools::failover

#endif
