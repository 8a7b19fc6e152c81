// SPDX-License-Identifier: BSD-3-Clause
// The IP addresses of this host's network interfaces, as libc lists them.
#ifndef UFX_UCS_INTERFACE_ADDRESSES_H
#define UFX_UCS_INTERFACE_ADDRESSES_H

#include "result.h"

#include <string>
#include <sys/socket.h>
#include <vector>

namespace ufx::ucs {

struct interface_address {
    std::string interface; // without the label that an address may carry, as in "eth0:1"
    bool up;
    bool loopback;
    sockaddr_storage address; // AF_INET or AF_INET6, port 0
    unsigned prefix_length;   // bits
};

// In the kernel's order. IO with errno set.
[[nodiscard]] result<std::vector<interface_address>> list_interface_addresses();

} // namespace ufx::ucs

#endif
