// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: parts of control frames, as a peer sends them over a lane.
//
// Input: parts, each behind its u16 length. A frame is whole only with its last part, and holds
// the bytes of the parts since the first one, in order.
#include "ucp/core/control_codec.h"
#include "ucp/lane_control.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

using namespace ufx::ucp;

constexpr std::size_t length_size = 2;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    control_receiver receiver;
    std::vector<std::uint8_t> since_first;
    while (size > length_size) {
        const std::size_t length =
            std::min<std::size_t>(data[0] | data[1] << 8, size - length_size);
        const auto part = parse_control_part({data + length_size, length});
        if (part) {
            if (part->index == 0) {
                since_first.clear();
            }
            since_first.insert(since_first.end(), part->bytes.begin(), part->bytes.end());
            const auto whole = receiver.take(*part);
            expect(whole.size() <= core::max_control_bytes);
            expect(whole.empty() ||
                   (part->index + 1 == part->count &&
                    std::equal(whole.begin(), whole.end(), since_first.begin(),
                               since_first.end())));
        }
        data += length_size + length;
        size -= length_size + length;
    }
    return 0;
}
