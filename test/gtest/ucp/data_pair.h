// SPDX-License-Identifier: BSD-3-Clause
// Two workers in one process, joined by rails over loopback, progressed in turn; for data tests.
#ifndef UFX_TEST_UCP_DATA_PAIR_H
#define UFX_TEST_UCP_DATA_PAIR_H

#include <ufx/ucp.h>

#include <catch2/catch.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace ufx::test {

// One operation's callback, counted.
struct waiter {
    unsigned calls = 0;
    ufx_status_t status = UFX_INPROGRESS;
    unsigned flags = 0;
    std::size_t length = 0;
    ufx_ucp_op_params_t params{};

    waiter()
    {
        params.field_mask = UFX_UCP_OP_PARAM_CB;
        params.cb = &waiter::on_done;
        params.cb_arg = this;
    }
    waiter(const waiter &) = delete;
    waiter &operator=(const waiter &) = delete;

    ufx_ucp_op_params_t *with_deadline(std::uint64_t ns)
    {
        params.field_mask |= UFX_UCP_OP_PARAM_DEADLINE;
        params.deadline_ns = ns;
        return &params;
    }
    ufx_ucp_op_params_t *with_flags(std::uint64_t flags_wanted)
    {
        params.field_mask |= UFX_UCP_OP_PARAM_FLAGS;
        params.flags = flags_wanted;
        return &params;
    }
    // A posting call's answer: done at once counts as one callback.
    void posted(ufx_status_t answer)
    {
        if (answer != UFX_INPROGRESS) {
            ++calls;
            status = answer;
        }
    }
    bool is_done() const { return calls != 0; }

private:
    static void on_done(void *arg, ufx_ucp_request_h, const ufx_ucp_completion_t *c) noexcept
    {
        auto &self = *static_cast<waiter *>(arg);
        ++self.calls;
        self.status = c->status;
        self.flags = c->flags;
        self.length = c->length;
    }
};

// One worker with its context, ep, and mapped memory that the other side has the key of.
struct side {
    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h worker = nullptr;
    ufx_ucp_ep_h ep = nullptr;
    ufx_ucp_mem_h mem = nullptr;
    std::byte *memory = nullptr;
    std::size_t memory_size = 0;
    ufx_ucp_rkey_h peer_key = nullptr; // of the other side's memory
    std::uint64_t peer_addr = 0;
    std::vector<ufx_ucp_ep_event_t> events;
    std::vector<std::string> event_texts;
};

// Two rails on loopback, or UFX_TEST_RAILS: what a test does is done over those.
inline std::string test_rails()
{
    const char *others = std::getenv("UFX_TEST_RAILS");
    return others != nullptr ? others : "lo:127.0.0.1,lo:127.0.0.2";
}

struct pair_options {
    std::string devices = test_rails();
    std::vector<ufx_ucp_config_entry_t> config;
    ufx_ucp_thread_mode_t threads = UFX_UCP_THREAD_SINGLE;
    std::size_t memory_size = 8 << 20;
    ufx_ucp_error_mode_t error_mode = UFX_UCP_ERROR_MODE_FAILOVER;
    std::uint64_t ep_flags = 0;
    bool one_context = false; // both workers are of a's
};

class pair {
public:
    explicit pair(const pair_options &options = {});
    ~pair();
    pair(const pair &) = delete;
    pair &operator=(const pair &) = delete;

    void progress();
    // Progresses both until `what` holds; false after `limit`.
    bool until(const std::function<bool()> &what,
               std::chrono::seconds limit = std::chrono::seconds(120));
    bool until_done(const waiter &w)
    {
        return until([&] { return w.is_done(); });
    }
    bool all_lanes_live();
    // Breaks or mends the link of one rail on one side.
    void set_link(side &at, const char *rail, bool up);
    ufx_ucp_failover_stats_t failover(const side &at) const;

    side a;
    side b;

private:
    void open(side &s, const pair_options &options);
    void share(side &owner, side &user);
    void close(side &s);
};

// A byte that depends on where it is and on a seed.
inline std::byte pattern(std::size_t at, unsigned seed)
{
    return static_cast<std::byte>((at * 131 + at / 251 + seed * 29) & 0xff);
}
void fill(std::byte *to, std::size_t length, unsigned seed);
// The first place where it differs, or length.
std::size_t first_difference(const std::byte *from, std::size_t length, unsigned seed);

} // namespace ufx::test

#endif
