// SPDX-License-Identifier: BSD-3-Clause
// Turns netlink messages into events of one iface.
#include "port_watch.h"

#include "iface.h"

#include "ucs/log.h"

namespace ufx::uct::tcp {

std::unique_ptr<port_watch> port_watch::create(iface &owner)
{
    std::unique_ptr<port_watch> made(new port_watch(owner));
    auto netlink = ucs::netlink_watch::create(&port_watch::on_event, made.get());
    if (!netlink) {
        ufx_info("tcp: %s: no events of link and address: %s", owner.local().name.c_str(),
                 ufx_ucs_status_string(netlink.error()));
        return nullptr;
    }
    made->netlink_ = std::move(netlink).value();
    made->up_ = port_active(owner.local());
    return made;
}

void port_watch::dispatch() noexcept
{
    (void)ucs::guard([this] { return netlink_->dispatch(); });
}

void port_watch::on_event(void *arg, const ucs::net_event &event) noexcept
{
    auto &self = *static_cast<port_watch *>(arg);
    if (event.change == ucs::net_change::overrun) {
        self.look_again();
        return;
    }
    if (event.index != self.owner_.local().index) {
        return;
    }
    switch (event.change) {
    case ucs::net_change::link_up:
        self.on_link(true);
        break;
    case ucs::net_change::link_down:
    case ucs::net_change::link_removed:
        self.on_link(false);
        break;
    case ucs::net_change::address_added:
        self.on_address(event.address, true);
        break;
    case ucs::net_change::address_removed:
        self.on_address(event.address, false);
        break;
    default:
        break;
    }
}

void port_watch::on_link(bool up) noexcept
{
    if (up == up_) {
        return;
    }
    up_ = up;
    owner_.on_port_change(up ? UFX_UCT_IFACE_PORT_UP : UFX_UCT_IFACE_PORT_DOWN,
                          up ? UFX_UCT_CAUSE_NONE : UFX_UCT_CAUSE_PORT_DOWN,
                          up ? "the link is up" : "the link is down");
}

void port_watch::on_address(const ucs::net_address &address, bool there) noexcept
{
    auto ip = ip_address::from(reinterpret_cast<const sockaddr *>(&address.address));
    if (!ip) {
        return;
    }
    if (!ip->same_ip(owner_.local().ip)) {
        if (there && !there_) {
            take_other();
        }
        return;
    }
    if (there == there_) {
        return;
    }
    there_ = there;
    owner_.on_port_change(UFX_UCT_IFACE_ADDR_CHANGED,
                          there ? UFX_UCT_CAUSE_NONE : UFX_UCT_CAUSE_ADDR_REMOVED,
                          there ? "the address is back" : "the address was removed");
    if (!there) {
        take_other();
    }
}

// A device that was named by its interface alone goes on with another address of that.
void port_watch::take_other() noexcept
{
    (void)ucs::guard([this] {
        const device &own = owner_.local();
        if (own.name != own.interface) {
            return;
        }
        const auto devices = list_devices();
        for (const device &one : devices.value_or(std::vector<device>())) {
            if (one.index == own.index && one.ip.family == own.ip.family &&
                owner_.move_to(one.ip)) {
                there_ = true;
                return;
            }
        }
    });
}

// The kernel dropped messages.
void port_watch::look_again() noexcept
{
    (void)ucs::guard([this] {
        on_link(port_active(owner_.local()));
        auto interfaces = ucs::list_interfaces();
        for (const ucs::net_interface &one :
             interfaces.value_or(std::vector<ucs::net_interface>())) {
            if (one.index != owner_.local().index) {
                continue;
            }
            for (const ucs::net_address &address : one.addresses) {
                auto ip = ip_address::from(reinterpret_cast<const sockaddr *>(&address.address));
                if (ip && ip->same_ip(owner_.local().ip)) {
                    on_address(address, true);
                    return;
                }
            }
            if (there_ && !owner_.local().loopback) {
                there_ = false;
                owner_.on_port_change(UFX_UCT_IFACE_ADDR_CHANGED, UFX_UCT_CAUSE_ADDR_REMOVED,
                                      "the address was removed");
                take_other();
            }
        }
    });
}

} // namespace ufx::uct::tcp
