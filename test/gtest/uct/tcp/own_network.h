// SPDX-License-Identifier: BSD-3-Clause
// Network namespaces of the test's own.
#ifndef UFX_TEST_UCT_TCP_OWN_NETWORK_H
#define UFX_TEST_UCT_TCP_OWN_NETWORK_H

#include "ucs/fd.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace ufx::test_tcp {

// This thread is in a network namespace of its own while it lives.
class own_network {
public:
    own_network() : before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
    {
        entered_ = before_ && ::unshare(CLONE_NEWNET) == 0;
        self_.reset(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    }

    ~own_network()
    {
        if (entered_) {
            static_cast<void>(!::setns(before_.get(), CLONE_NEWNET));
        }
    }

    // Back into it, after another one was made.
    void enter() { static_cast<void>(!::setns(self_.get(), CLONE_NEWNET)); }

    // A descriptor of the namespace, as a path for `ip link set ... netns`.
    [[nodiscard]] std::string path() const
    {
        return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(self_.get());
    }

    // True if all the commands worked.
    bool run(std::initializer_list<const char *> commands)
    {
        return entered_ && std::all_of(commands.begin(), commands.end(), [](const char *command) {
                   return std::system((std::string(command) + " 2>/dev/null").c_str()) == 0;
               });
    }

    // Two linked interfaces with an address each.
    bool add_rail()
    {
        return run({"ip link set lo up", "ip link add v0 type veth peer name v1",
                    "ip addr add 10.9.0.1/24 dev v0", "ip addr add 10.9.0.2/24 dev v1",
                    "ip link set v0 up", "ip link set v1 up"});
    }

private:
    ufx::ucs::fd before_;
    ufx::ucs::fd self_;
    bool entered_ = false;
};

} // namespace ufx::test_tcp

#endif
