// SPDX-License-Identifier: BSD-3-Clause
// namespaces: two network namespaces joined by veth pairs rail0, rail1 (10.77.N.0/24), which are
// gone when the program is gone, however it ends: a guardian process takes them down.
#ifndef UFX_TOOLS_FAILOVER_NETNS_H
#define UFX_TOOLS_FAILOVER_NETNS_H

#include "tools/common/fd.h"

#include <string>
#include <sys/types.h>

namespace ufx::tools::failover {

constexpr unsigned NETNS_RAILS = 2;

class namespaces {
public:
    /**
     * Makes them.
     * @param prefix  of their names; empty: "ufx-PID"
     * @param rate    of each rail, for tc; "none": no limit; empty: 1gbit, or none if it cannot be
     */
    namespaces(const std::string &prefix, const std::string &rate);
    namespaces(const namespaces &) = delete;
    namespaces &operator=(const namespaces &) = delete;
    ~namespaces();

    const std::string &sender_name() const noexcept { return a_; }
    const std::string &receiver_name() const noexcept { return b_; }

    /** "rail0,rail1" */
    static std::string devices();

    /** Address of a rail at the sender. */
    static std::string sender_address(unsigned rail);

    /** Moves the calling thread into one of them; waits for its rails to have a carrier. */
    static void enter(const std::string &name);

private:
    void build(const std::string &rate);

    std::string a_, b_;
    fd guard_pipe_;
    pid_t guardian_ = -1;
};

} // namespace ufx::tools::failover

#endif
