// SPDX-License-Identifier: BSD-3-Clause
// The tools' own TCP connection beside the measured one: listen, accept, connect, with a deadline.
#ifndef UFX_TOOLS_COMMON_SOCKET_H
#define UFX_TOOLS_COMMON_SOCKET_H

#include "tools/common/fd.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ufx::tools {

/** Listens on a port of all addresses; a port in use is a clear error. */
fd listen_on(uint16_t port);

/** Name of this host, by which another one may know it. */
std::string own_name();

/** Tells that a server waits, and by which command the other end is started. */
void say_waiting(const std::string &whom, uint16_t port, const std::string &command,
                 uint16_t usual_port);

struct connection {
    fd socket;
    std::string peer; ///< its address, for people
};

/** A connection that is there already, if there is one. */
std::optional<connection> accept_one(const fd &listener);

/** Connects within `timeout_ms`; names host, port and cause if it cannot. */
fd connect_to(const std::string &host, uint16_t port, int timeout_ms);

} // namespace ufx::tools

#endif
