// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: a control message from a peer. What decodes encodes to the same bytes, and the core
// takes it without harm, in a state with lanes and in one where nothing is known.
#include "ucp/core/control_codec.h"
#include "ucp/core/peer.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using namespace ufx::ucp::core;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

void feed(const control_msg &msg, bool starter, bool with_ep)
{
    action_list out;
    peer p({}, starter);
    p.add_rail(0, 1, out);
    p.add_rail(3, 1, out);
    if (with_ep) {
        p.open_ep(11, 12, 99, error_mode::FAILOVER, 1, out);
        p.find_ep(11)->admit_am(1, 3, 0);
        p.lane_created({11, 3, 1}, {}, {}, 2, out);
    }
    p.control(msg, 3, out);
    p.control(msg, 4, out);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const auto frame = decode({reinterpret_cast<const std::byte *>(data), size});
    if (!frame) {
        return 0;
    }
    std::array<std::byte, max_control_bytes> again;
    const auto length = encode(frame->envelope, frame->msg, again);
    expect(length.ok() && *length == size && std::memcmp(again.data(), data, size) == 0);
    for (const bool starter : {true, false}) {
        feed(frame->msg, starter, true);
        feed(frame->msg, starter, false);
    }
    return 0;
}
