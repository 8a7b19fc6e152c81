// SPDX-License-Identifier: BSD-3-Clause
// Interfaces in a build without libnl: everything is UNSUPPORTED.
#include "netlink_watch.h"
#include "route.h"

namespace ufx::ucs {

struct netlink_watch::impl {};

netlink_watch::netlink_watch(owner<impl> inside) noexcept : impl_(std::move(inside)) {}

netlink_watch::~netlink_watch() = default;

result<std::vector<net_interface>> list_interfaces()
{
    return UFX_ERR_UNSUPPORTED;
}

result<owner<netlink_watch>> netlink_watch::create(handler, void *)
{
    return UFX_ERR_UNSUPPORTED;
}

int netlink_watch::event_fd() const noexcept
{
    return -1;
}

result<void> netlink_watch::dispatch()
{
    return UFX_ERR_UNSUPPORTED;
}

route_state find_route(const std::string &, std::span<const std::byte>,
                       std::span<const std::byte>) noexcept
{
    return route_state::unknown;
}

} // namespace ufx::ucs
