// SPDX-License-Identifier: BSD-3-Clause
// Two connected eps of an RC transport on the software ConnectX, whose faults can be commanded.
#ifndef UFX_TEST_UCT_IB_RC_RIG_H
#define UFX_TEST_UCT_IB_RC_RIG_H

#include "uct/conformance/harness.h"

#include <functional>
#include <string>
#include <vector>

namespace ufx::test {

inline constexpr size_t MTU = 4096;

// Runs `ufx_swhca ctl` on the fabric of this process. Rules stay unless they are counted: so they
// name a queue pair, or a device that nothing else uses.
void command(const std::string &rule);

// Both transports, on mlx5_0. Without the software ConnectX the case is skipped.
void for_each_rc(const std::function<void(const uct_resource &)> &body);

// The same transport on another device.
[[nodiscard]] uct_resource on_device(const uct_resource &resource, const std::string &name);

// Sets UFX_RC_MLX5_<name> or UFX_RC_VERBS_<name> for the ifaces that are opened meanwhile.
class rc_setting {
public:
    rc_setting(const uct_resource &resource, const std::string &name, const std::string &value);
    ~rc_setting();
    rc_setting(const rc_setting &) = delete;
    rc_setting &operator=(const rc_setting &) = delete;

private:
    std::string name_;
};

// Connects eps that were created by hand; who created them destroys them.
void connect_eps(uct_pair &pair, const uct_pair::connection &eps);

struct rc_pair : uct_pair {
    explicit rc_pair(const uct_resource &resource, size_t size = 1 << 20);
    rc_pair(const uct_resource &resource, const uct_resource &of_b);

    ufx_status_t put(size_t offset, size_t length, counted &done);
    ufx_status_t put_on(ufx_uct_ep_h on, size_t offset, size_t length, counted &done);

    [[nodiscard]] bool landed(size_t offset, size_t length) const;

    // For a rule about what this ep's queue pair sends.
    static std::string sent_by(ufx_uct_ep_h ep);

    // Closes the receiving side and asks it what the sender's token says.
    struct position {
        uint8_t bytes[UFX_UCT_TOKEN_MAX];
        size_t length;
        ufx_uct_token_grade_t grade;
    };
    position close_target();
    // Without closing.
    position ask_target();

    void close_source();

    struct judged {
        ufx_uct_op_kind_t kind;
        ufx_uct_verdict_t verdict;
        size_t bytes;
    };
    std::vector<judged> purge(const position &token);

    remote_memory target;
    local_memory data;
};

} // namespace ufx::test

#endif
