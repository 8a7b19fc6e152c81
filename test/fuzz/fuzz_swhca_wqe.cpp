// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the parsers of what a program leaves in memory for the device: WQEs and receive
// lists. What parses names only bytes that were there.
#include "swhca/wire/wqe.h"

#include <cstdint>
#include <cstdlib>
#include <span>

namespace {

using namespace ufx::swhca;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

void check_send(std::span<const std::byte> bytes, bool datagram)
{
    send_wqe wqe;
    if (parse_send_wqe(bytes, datagram, wqe) != wqe_error::NONE) {
        return;
    }
    expect(wqe.segments > 0 && wqe.segments * wqe_segment_bytes <= bytes.size());
    expect(wqe.sge_count <= max_sges);
    expect(!wqe.is_inline || wqe.inline_offset + wqe.length <= wqe.segments * wqe_segment_bytes);
    expect(wqe_blocks(bytes) * wqe_block_bytes >= wqe.segments * wqe_segment_bytes);
    expect(!is_atomic(wqe.opcode) || wqe.atomic.bytes == 4 || wqe.atomic.bytes == 8);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < wqe.sge_count; i++) {
        sum += wqe.sges[i].length;
    }
    expect(wqe.is_inline || sum == wqe.length);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::span<const std::byte> bytes(reinterpret_cast<const std::byte *>(data), size);
    check_send(bytes, false);
    check_send(bytes, true);
    (void)wqe_blocks(bytes);
    data_segment segment{};
    (void)parse_receive_segment(bytes, segment);
    return 0;
}
