// SPDX-License-Identifier: BSD-3-Clause
// Interfaces by libnl-route-3.
#include "netlink_watch.h"

#include "fd.h"
#include "log.h"

#include <cstring>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <map>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <sys/ioctl.h>

namespace ufx::ucs {
namespace {

using socket_owner = c_owner<nl_sock, &::nl_socket_free>;
using cache_owner = c_owner<nl_cache, &::nl_cache_free>;

result<socket_owner> connect_route()
{
    socket_owner socket(::nl_socket_alloc());
    if (socket == nullptr) {
        return UFX_ERR_NO_MEMORY;
    }
    int fault = ::nl_connect(socket.get(), NETLINK_ROUTE);
    if (fault < 0) {
        ufx_warn("netlink socket: %s", ::nl_geterror(fault));
        return UFX_ERR_IO;
    }
    return socket;
}

// Speed by ethtool, which needs no privilege and honours the network namespace. Interfaces
// without a speed, such as lo, give 0.
uint64_t link_speed(const fd &any_socket, const std::string &name)
{
    ethtool_cmd command = {};
    command.cmd = ETHTOOL_GSET;
    ifreq request = {};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char *>(&command);
    if (::ioctl(any_socket.get(), SIOCETHTOOL, &request) != 0) {
        return 0;
    }
    uint32_t speed = ethtool_cmd_speed(&command);
    return speed == static_cast<uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
}

bool is_up(rtnl_link *link) noexcept
{
    unsigned flags = ::rtnl_link_get_flags(link);
    return (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0;
}

std::string name_of(rtnl_link *link)
{
    const char *name = ::rtnl_link_get_name(link);
    return name == nullptr ? "" : name;
}

bool read_address(rtnl_addr *from, net_address &to) noexcept
{
    nl_addr *local = ::rtnl_addr_get_local(from);
    if (local == nullptr) {
        return false;
    }
    to = {};
    to.prefix_length = ::nl_addr_get_prefixlen(local);
    const void *bytes = ::nl_addr_get_binary_addr(local);
    size_t size = ::nl_addr_get_len(local);
    if (::nl_addr_get_family(local) == AF_INET && size == sizeof(in_addr)) {
        auto *in = reinterpret_cast<sockaddr_in *>(&to.address);
        in->sin_family = AF_INET;
        std::memcpy(&in->sin_addr, bytes, size);
        return true;
    }
    if (::nl_addr_get_family(local) == AF_INET6 && size == sizeof(in6_addr)) {
        auto *in = reinterpret_cast<sockaddr_in6 *>(&to.address);
        in->sin6_family = AF_INET6;
        std::memcpy(&in->sin6_addr, bytes, size);
        if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) {
            in->sin6_scope_id = static_cast<uint32_t>(::rtnl_addr_get_ifindex(from));
        }
        return true;
    }
    return false;
}

template <class F>
void for_each_object(nl_cache *cache, F &&f)
{
    for (nl_object *at = ::nl_cache_get_first(cache); at != nullptr; at = ::nl_cache_get_next(at)) {
        f(at);
    }
}

void add_addresses(nl_cache *cache, std::vector<net_interface> &interfaces)
{
    for_each_object(cache, [&](nl_object *object) {
        auto *from = reinterpret_cast<rtnl_addr *>(object);
        auto index = static_cast<unsigned>(::rtnl_addr_get_ifindex(from));
        net_address address;
        for (net_interface &one : interfaces) {
            if (one.index == index && read_address(from, address)) {
                one.addresses.push_back(address);
            }
        }
    });
}

} // namespace

result<std::vector<net_interface>> list_interfaces()
{
    result<socket_owner> socket = connect_route();
    if (!socket) {
        return socket.error();
    }
    nl_cache *links = nullptr;
    nl_cache *addresses = nullptr;
    int fault = ::rtnl_link_alloc_cache(socket->get(), AF_UNSPEC, &links);
    cache_owner own_links(fault < 0 ? nullptr : links);
    if (fault >= 0) {
        fault = ::rtnl_addr_alloc_cache(socket->get(), &addresses);
    }
    cache_owner own_addresses(fault < 0 ? nullptr : addresses);
    if (fault < 0) {
        ufx_warn("listing network interfaces: %s", ::nl_geterror(fault));
        return UFX_ERR_IO;
    }
    fd any_socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::vector<net_interface> interfaces;
    for_each_object(links, [&](nl_object *object) {
        auto *link = reinterpret_cast<rtnl_link *>(object);
        net_interface one = {};
        one.index = static_cast<unsigned>(::rtnl_link_get_ifindex(link));
        one.name = name_of(link);
        one.mtu = ::rtnl_link_get_mtu(link);
        one.up = is_up(link);
        one.loopback = (::rtnl_link_get_flags(link) & IFF_LOOPBACK) != 0;
        one.speed_mbps = link_speed(any_socket, one.name);
        interfaces.push_back(std::move(one));
    });
    add_addresses(addresses, interfaces);
    return interfaces;
}

struct netlink_watch::impl {
    socket_owner socket;
    handler call;
    void *arg;
    std::map<unsigned, std::string> names; // of interfaces, since address messages have none

    void link_message(rtnl_link *link, bool removed)
    {
        net_event event = {};
        event.index = static_cast<unsigned>(::rtnl_link_get_ifindex(link));
        event.name = name_of(link);
        if (removed) {
            event.change = net_change::link_removed;
            names.erase(event.index);
        } else {
            event.change = is_up(link) ? net_change::link_up : net_change::link_down;
            names[event.index] = event.name;
        }
        call(arg, event);
    }

    void address_message(rtnl_addr *address, bool removed)
    {
        net_event event = {};
        if (!read_address(address, event.address)) {
            return;
        }
        event.change = removed ? net_change::address_removed : net_change::address_added;
        event.index = static_cast<unsigned>(::rtnl_addr_get_ifindex(address));
        auto known = names.find(event.index);
        event.name = known == names.end() ? "" : known->second;
        call(arg, event);
    }

    static int on_message(nl_msg *message, void *arg)
    {
        struct context {
            impl *self;
            int type;
        } now{static_cast<impl *>(arg), ::nlmsg_hdr(message)->nlmsg_type};
        auto parse = [](nl_object *object, void *at) {
            auto *inside = static_cast<context *>(at);
            inside->self->on_parsed(object, inside->type);
        };
        int fault = ::nl_msg_parse(message, parse, &now);
        if (fault < 0) {
            ufx_debug("netlink message of type %d was not understood: %s", now.type,
                      ::nl_geterror(fault));
        }
        return NL_OK;
    }

    void on_parsed(nl_object *object, int type)
    {
        if (type == RTM_NEWLINK || type == RTM_DELLINK) {
            auto *link = reinterpret_cast<rtnl_link *>(object);
            // AF_BRIDGE and others send link messages of their own that say nothing about state.
            if (::rtnl_link_get_family(link) == AF_UNSPEC) {
                link_message(link, type == RTM_DELLINK);
            }
        } else if (type == RTM_NEWADDR || type == RTM_DELADDR) {
            address_message(reinterpret_cast<rtnl_addr *>(object), type == RTM_DELADDR);
        }
    }
};

netlink_watch::netlink_watch(owner<impl> inside) noexcept : impl_(std::move(inside)) {}

netlink_watch::~netlink_watch() = default;

result<owner<netlink_watch>> netlink_watch::create(handler call, void *arg)
{
    result<socket_owner> socket = connect_route();
    if (!socket) {
        return socket.error();
    }
    auto inside = owner<impl>(new impl);
    inside->socket = std::move(*socket);
    inside->call = call;
    inside->arg = arg;
    nl_sock *raw = inside->socket.get();
    ::nl_socket_disable_seq_check(raw);
    int fault =
        ::nl_socket_modify_cb(raw, NL_CB_VALID, NL_CB_CUSTOM, &impl::on_message, inside.get());
    if (fault >= 0) {
        fault = ::nl_socket_add_memberships(raw, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
                                            RTNLGRP_IPV6_IFADDR, 0);
    }
    if (fault >= 0) {
        fault = ::nl_socket_set_nonblocking(raw);
    }
    if (fault < 0) {
        ufx_warn("netlink watch: %s", ::nl_geterror(fault));
        return UFX_ERR_IO;
    }
    // After the membership, so that no interface falls between list and watch.
    result<std::vector<net_interface>> interfaces = list_interfaces();
    if (!interfaces) {
        return interfaces.error();
    }
    for (const net_interface &one : *interfaces) {
        inside->names[one.index] = one.name;
    }
    return owner_access::make<netlink_watch>(std::move(inside));
}

int netlink_watch::event_fd() const noexcept
{
    return ::nl_socket_get_fd(impl_->socket.get());
}

result<void> netlink_watch::dispatch()
{
    for (;;) {
        int fault = ::nl_recvmsgs_default(impl_->socket.get());
        if (fault == -NLE_AGAIN) {
            return {};
        }
        if (fault == -NLE_NOMEM) { // ENOBUFS
            ufx_warn("netlink messages were lost");
            impl_->call(impl_->arg, net_event{net_change::overrun, 0, {}, {}});
            continue;
        }
        if (fault < 0) {
            ufx_warn("netlink receive: %s", ::nl_geterror(fault));
            return UFX_ERR_IO;
        }
    }
}

} // namespace ufx::ucs
