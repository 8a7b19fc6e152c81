// SPDX-License-Identifier: BSD-3-Clause
// Follows what the kernel says about the link and the address of one device.
#ifndef UFX_UCT_TCP_PORT_WATCH_H
#define UFX_UCT_TCP_PORT_WATCH_H

#include "device.h"

#include "ucs/netlink_watch.h"
#include "ucs/owner.h"

#include <memory>

namespace ufx::uct::tcp {

class iface;

class port_watch {
public:
    // nullptr in a build without libnl, or if the kernel refuses; logs why.
    [[nodiscard]] static std::unique_ptr<port_watch> create(iface &owner);

    [[nodiscard]] int event_fd() const noexcept { return netlink_->event_fd(); }

    // Tells the iface what changed. From progress only.
    void dispatch() noexcept;

private:
    explicit port_watch(iface &owner) noexcept : owner_(owner) {}

    static void on_event(void *arg, const ucs::net_event &event) noexcept;
    void on_link(bool up) noexcept;
    void on_address(const ucs::net_address &address, bool there) noexcept;
    void look_again() noexcept;
    void take_other() noexcept;

    iface &owner_;
    ucs::owner<ucs::netlink_watch> netlink_;
    bool up_ = true;
    bool there_ = true; // the device's address
};

} // namespace ufx::uct::tcp

#endif
