// SPDX-License-Identifier: BSD-3-Clause
// Bytes of a chunk header.
#include "tools/failover/chunk.h"

#include "tools/common/crc32.h"

namespace ufx::tools::failover {

namespace {

constexpr uint32_t MAGIC = 0x4b484355; // "UCHK"
constexpr size_t CRC_AT = 52;

void store(chunk_bytes &bytes, size_t at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        bytes[at + i] = static_cast<unsigned char>(value >> (8 * i));
    }
}

uint64_t load(const unsigned char *bytes, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    }
    return value;
}

} // namespace

chunk_bytes encode(const chunk_header &header)
{
    chunk_bytes bytes = {};
    store(bytes, 0, MAGIC, 4);
    store(bytes, 4, static_cast<uint32_t>(header.kind), 4);
    store(bytes, 8, header.seq, 8);
    store(bytes, 16, header.stamp_ns, 8);
    store(bytes, 24, header.offset, 8);
    store(bytes, 32, header.length, 4);
    store(bytes, 36, header.crc, 4);
    store(bytes, 40, header.order, 8);
    store(bytes, 48, header.slot, 4);
    store(bytes, CRC_AT, crc32(bytes.data(), CRC_AT), 4);
    return bytes;
}

std::optional<chunk_header> decode(const void *data, size_t length)
{
    const auto *bytes = static_cast<const unsigned char *>(data);
    if (length != CHUNK_HEADER || load(bytes, 4) != MAGIC ||
        load(bytes + CRC_AT, 4) != crc32(bytes, CRC_AT) || load(bytes + 4, 4) > 2) {
        return std::nullopt;
    }
    chunk_header header;
    header.kind = static_cast<chunk_kind>(load(bytes + 4, 4));
    header.seq = load(bytes + 8, 8);
    header.stamp_ns = load(bytes + 16, 8);
    header.offset = load(bytes + 24, 8);
    header.length = static_cast<uint32_t>(load(bytes + 32, 4));
    header.crc = static_cast<uint32_t>(load(bytes + 36, 4));
    header.order = load(bytes + 40, 8);
    header.slot = static_cast<uint32_t>(load(bytes + 48, 4));
    return header;
}

} // namespace ufx::tools::failover
