// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: worker addresses, as they come in a HELLO and from the user. What decodes comes back
// from its own encoding, and its ports are matched with those of another address.
//
// Input: u16 length of the first address, the first, the second.
#include "ucp/address.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace ufx::ucp;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

bool has_port(const worker_address &address, std::uint8_t index)
{
    return std::any_of(address.rails.begin(), address.rails.end(),
                       [&](const rail_address &r) { return r.index == index; });
}

void check_encoding(const worker_address &address)
{
    const auto bytes = encode(address);
    const auto again = decode_worker_address(bytes);
    expect(again.ok() && again->uuid == address.uuid);
    expect(again->rails.size() == address.rails.size() && encode(*again) == bytes);
    for (const rail_address &rail : address.rails) {
        expect(!text_of(rail.control).empty());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    ufx::ucs::byte_reader in(data, size);
    const std::size_t length = in.le16();
    const auto half = [](std::span<const std::byte> bytes) {
        return decode_worker_address(
            {reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size()});
    };
    const auto first = half(in.bytes(std::min(length, in.remaining())));
    if (!first) {
        return 0;
    }
    check_encoding(*first);
    if (const auto second = half(in.rest())) {
        for (const port_pair &pair : match_rails(*first, *second)) {
            expect(has_port(*first, pair.small) && has_port(*second, pair.large));
        }
    }
    return 0;
}
