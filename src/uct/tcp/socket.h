// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking TCP sockets bound to a device, and what the kernel says about a connection.
#ifndef UFX_UCT_TCP_SOCKET_H
#define UFX_UCT_TCP_SOCKET_H

#include "address.h"
#include "config.h"
#include "device.h"

#include "ucs/acceptor.h"
#include "ucs/fd.h"
#include "ucs/result.h"

#include <ufx/uct_types.h>

#include <string>

namespace ufx::uct::tcp {

struct listener {
    ucs::fd socket;
    uint16_t port = 0;
};

// Listens on the device's address, at `preferred` if that is given and free; logs why it cannot.
[[nodiscard]] ucs::result<listener> listen_on(const device &from, const config &with,
                                              port_range ports, uint16_t preferred = 0);

// Starts to connect from the device's address. On error errno says why.
[[nodiscard]] ucs::result<ucs::fd> start_connect(const device &from, const config &with,
                                                 const ip_address &to, uint16_t port);

// Next connection that waits, with the options of a connection set; invalid if there is none.
[[nodiscard]] ucs::fd accept_on(const ucs::fd &socket, ucs::acceptor &by,
                                const config &with) noexcept;

// Takes the error that waits on the socket; 0 if none.
[[nodiscard]] int socket_error(const ucs::fd &socket) noexcept;

struct connection_info {
    uint64_t acked_bytes = 0;
    uint64_t srtt_ns = 0;
    bool network_unacked = false;
};

// From TCP_INFO; zeros for a socket that is not TCP.
[[nodiscard]] connection_info query_connection(const ucs::fd &socket) noexcept;

// "127.0.0.1:40000>127.0.0.2:5000", as far as known.
[[nodiscard]] std::string describe(const ucs::fd &socket);

struct socket_failure {
    ufx_status_t status;
    ufx_uct_error_cause_t cause;
};

// What an errno of a socket call means for an ep; 0 means end of stream.
[[nodiscard]] socket_failure classify(int error) noexcept;

} // namespace ufx::uct::tcp

#endif
