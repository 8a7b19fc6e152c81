// SPDX-License-Identifier: BSD-3-Clause
// Addresses of this host's network devices, and which of them leads to a peer.
#ifndef UFX_TOOLS_COMMON_NETWORK_H
#define UFX_TOOLS_COMMON_NETWORK_H

#include <array>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace ufx::tools {

/** An IP address with its prefix; family AF_UNSPEC: none. */
struct net_address {
    sa_family_t family = AF_UNSPEC;
    std::array<uint8_t, 16> bytes{};
    unsigned prefix = 0; ///< bits

    bool loopback() const;
    bool same_subnet(const net_address &other) const;
    bool operator==(const net_address &other) const
    {
        return family == other.family && bytes == other.bytes;
    }
    /** True if a socket bound to this one may talk to `other`. */
    bool may_reach(const net_address &other) const;
    /** "10.0.0.1/24", or "" if there is none, and back. Throws on text that is neither. */
    std::string text() const;
    static net_address parse(const std::string &text);
};

/** One address of one interface, by the name that UFX gives it as a device. */
struct net_device {
    std::string name; ///< the interface for its first address, else interface:address
    std::string interface;
    net_address address;
};

/** All that are up; those of an interface together, IPv4 before IPv6. */
std::vector<net_device> list_net_devices();

/** Address of a device named interface[:address]; none if it is not here. */
net_address address_of_device(const std::vector<net_device> &all, const std::string &device);

/** Interface by which this host sends to another one; "" if that cannot be told. */
std::string interface_towards(const std::string &host);

/** Interface of the own end of a connection; "" if that cannot be told. */
std::string interface_of_socket(int socket);

} // namespace ufx::tools

#endif
