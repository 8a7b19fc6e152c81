// SPDX-License-Identifier: BSD-3-Clause
// stepped_sockets: TCP connections inside a process that steps its fabric. They are stream sockets
// of AF_UNIX with the addresses that the program gave: what is sent is there when send() returns,
// so that nothing depends on when the kernel's network gets to run.
#ifndef UFX_SWHCA_SHIM_STEPPED_SOCKETS_H
#define UFX_SWHCA_SHIM_STEPPED_SOCKETS_H

#include <sys/socket.h>

namespace ufx::swhca::shim {

// Whether the program was started to be stepped.
[[nodiscard]] bool is_stepped_program() noexcept;

// Whether it is one of these. All below are for these only, and return what the call of that name
// does.
[[nodiscard]] bool is_stepped_socket(int number) noexcept;

[[nodiscard]] int open_stepped(int family, int type);
[[nodiscard]] int bind_stepped(int number, const sockaddr *to, socklen_t length);
[[nodiscard]] int listen_stepped(int number, int backlog);
[[nodiscard]] int connect_stepped(int number, const sockaddr *to, socklen_t length);
[[nodiscard]] int accept_stepped(int number, sockaddr *from, socklen_t *length, int flags);
[[nodiscard]] int name_stepped(int number, bool of_peer, sockaddr *name, socklen_t *length);
void forget_stepped(int number) noexcept;

} // namespace ufx::swhca::shim

#endif
