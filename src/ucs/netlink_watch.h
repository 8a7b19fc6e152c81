// SPDX-License-Identifier: BSD-3-Clause
// Network interfaces of this namespace: a list of them now, and a watch for changes.
#ifndef UFX_UCS_NETLINK_WATCH_H
#define UFX_UCS_NETLINK_WATCH_H

#include "owner.h"
#include "result.h"

#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace ufx::ucs {

struct net_address {
    sockaddr_storage address; // AF_INET or AF_INET6, port 0; scope id set where needed
    unsigned prefix_length;   // bits
};

struct net_interface {
    unsigned index;
    std::string name;
    unsigned mtu;        // bytes
    uint64_t speed_mbps; // 0: unknown
    bool up;             // administratively up and with carrier
    bool loopback;
    std::vector<net_address> addresses;
};

// All interfaces; no privilege is needed. UNSUPPORTED in a build without libnl.
[[nodiscard]] result<std::vector<net_interface>> list_interfaces();

enum class net_change : uint8_t {
    link_up,
    link_down,
    link_removed,
    address_added,
    address_removed,
    overrun // the kernel dropped messages: list the interfaces again
};

struct net_event {
    net_change change;
    unsigned index;      // of the interface; 0 for overrun
    std::string name;    // of the interface; empty if it is gone before it was known
    net_address address; // for address_added and address_removed
};

// Reads changes from the kernel. Single-threaded.
class netlink_watch {
public:
    using handler = void (*)(void *arg, const net_event &event);

    // UNSUPPORTED in a build without libnl. `call` runs from dispatch() only. A link message that
    // changes nothing about being up gives a link_up or link_down again: take it as the state.
    [[nodiscard]] static result<owner<netlink_watch>> create(handler call, void *arg);

    ~netlink_watch();

    // Readable when dispatch() has something to do.
    [[nodiscard]] int event_fd() const noexcept;

    // Handles all that has come; never blocks.
    [[nodiscard]] result<void> dispatch();

private:
    friend struct owner_access;
    struct impl;

    explicit netlink_watch(owner<impl> inside) noexcept;

    owner<impl> impl_;
};

} // namespace ufx::ucs

#endif
