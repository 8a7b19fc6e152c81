// SPDX-License-Identifier: BSD-3-Clause
// Devices of the tcp transport: one address of one network interface, named `interface[:address]`.
#ifndef UFX_UCT_TCP_DEVICE_H
#define UFX_UCT_TCP_DEVICE_H

#include "address.h"

#include "ucs/result.h"

#include <string>
#include <vector>

namespace ufx::uct::tcp {

struct device {
    std::string name;      // as given or listed
    std::string interface; // e.g. "eth0"
    unsigned index = 0;
    bool loopback = false;
    ip_address ip;
};

// All addresses of interfaces that are up. An interface's first address (IPv4 before IPv6) is
// listed by the interface's name alone.
[[nodiscard]] ucs::result<std::vector<device>> list_devices();

// Finds the device of a name; any address of 127/8 is one of `lo`. Logs what is wrong.
[[nodiscard]] ucs::result<device> find_device(const std::string &name);

// True if the interface is up and has a carrier, as far as the kernel tells.
[[nodiscard]] bool port_active(const device &which) noexcept;

// Bytes per second of the link: from sysfs, or an assumption (10 Gb/s, loopback 100 Gb/s).
[[nodiscard]] double link_bandwidth(const device &which) noexcept;

// NUMA node of the adapter, -1 if unknown.
[[nodiscard]] int numa_node(const device &which) noexcept;

} // namespace ufx::uct::tcp

#endif
