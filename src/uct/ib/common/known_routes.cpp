// SPDX-License-Identifier: BSD-3-Clause
// Asks for routes and remembers the answers for a while.
#include "known_routes.h"

#include "ucs/clock.h"
#include "ucs/log.h"
#include "ucs/route.h"

#include <algorithm>

namespace ufx::uct::ib {

namespace {

constexpr uint64_t ask_again_ns = ucs::ns_per_sec;
constexpr size_t most_answers = 4096;

bool is_ipv4(const known_routes::gid &address)
{
    constexpr size_t zeros = 10;
    return std::all_of(address.begin(), address.begin() + zeros,
                       [](std::byte one) { return one == std::byte{}; }) &&
           address[zeros] == std::byte{0xff} && address[zeros + 1] == std::byte{0xff};
}

bool is_link_local(const known_routes::gid &address)
{
    return address[0] == std::byte{0xfe} && (address[1] & std::byte{0xc0}) == std::byte{0x80};
}

// The GID of a port that has only IPv4 may be an IPv6 one: no question can be put then.
bool ask(const gid_entry &from, const known_routes::gid &to)
{
    constexpr size_t ipv4_at = 12;
    const bool is_4 = is_ipv4(to);
    if (is_4 != is_ipv4(from.gid)) {
        return true;
    }
    const std::span<const std::byte> here(from.gid);
    const std::span<const std::byte> there(to);
    const auto found =
        is_4 ? ucs::find_route(from.netdev, here.subspan(ipv4_at), there.subspan(ipv4_at))
             : ucs::find_route(from.netdev, here, there);
    if (found == ucs::route_state::none) {
        ufx_info("%s has no route to %s", from.netdev.c_str(), gid_text(to).data());
    }
    return found != ucs::route_state::none;
}

} // namespace

bool known_routes::has(const gid_entry &from, const gid &to)
{
    if (from.netdev.empty() || from.netdev == "lo" || is_link_local(to)) {
        return true;
    }
    const uint64_t now = ucs::now_ns();
    if (answers_.size() >= most_answers) {
        std::erase_if(answers_, [now](const auto &one) { return one.second.until_ns <= now; });
    }
    answer &known = answers_[{from.gid, to}];
    if (known.until_ns <= now) {
        known = {ask(from, to), now + ask_again_ns};
    }
    return known.is_there;
}

} // namespace ufx::uct::ib
