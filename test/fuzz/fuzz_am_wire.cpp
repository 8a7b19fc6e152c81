// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: frames of the data path and the bodies that ucp itself sends. What is accepted keeps
// its promises and encodes to the same bytes again.
#include "ucp/am_wire.h"
#include "ucp/recv_message.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace ufx::ucp;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

template <class Body>
void check_body(std::span<const std::byte> bytes, std::size_t size)
{
    Body body;
    if (decode(bytes, body)) {
        std::vector<std::byte> again(size);
        encode(body, again.data());
        expect(again.size() == bytes.size() &&
               std::memcmp(again.data(), bytes.data(), bytes.size()) == 0);
    }
}

void check_frame(std::span<const std::byte> frame)
{
    am_header header;
    std::span<const std::byte> payload;
    if (!decode(frame, header, payload)) {
        return;
    }
    expect(payload.size() == frame.size() - am_header_size);
    if (header.type != am_type::ACK) {
        expect(header.index < header.count && header.count <= max_am_fragments);
        expect(header.number >= header.index);
        expect(header.type == am_type::SKIP || header.offset + payload.size() <= header.total);
        expect(header.type == am_type::SKIP || header.total <= max_am_stream);
    }
    std::vector<std::byte> again(am_header_size);
    encode(header, again.data());
    constexpr std::size_t reserved = 4; // not kept
    expect(std::memcmp(again.data(), frame.data(), am_header_size - reserved) == 0);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte *>(data), size);
    check_frame(bytes);
    check_body<ats_body>(bytes, ats_size);
    check_body<atomic_req_body>(bytes, atomic_req_size);
    check_body<atomic_rep_body>(bytes, atomic_rep_size);
    check_body<rts_body>(bytes, size);
    return 0;
}
