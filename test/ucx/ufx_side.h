// SPDX-License-Identifier: BSD-3-Clause
// Two UFX workers of one process over two rails, for a test that runs beside another library.
#ifndef UFX_TEST_UCX_UFX_SIDE_H
#define UFX_TEST_UCX_UFX_SIDE_H

#include <ufx/ucp.h>

#include <cstdint>
#include <string>
#include <vector>

// Moves checked blocks by put from one worker to the other; a rail can be cut on both.
// Not thread-safe. Every failure is kept in error() and ends all further work.
class ufx_side {
public:
    ufx_side();
    ~ufx_side();
    ufx_side(const ufx_side &) = delete;
    ufx_side &operator=(const ufx_side &) = delete;

    // Keeps a bounded number of puts in flight and checks each block when it has completed.
    void step();
    void set_link(const char *rail, bool up);
    // Until nothing is in flight, or the deadline.
    void drain();

    std::uint64_t checked_blocks() const { return checked_; }
    std::uint64_t replayed() const;
    std::uint64_t switches() const;
    const std::string &error() const { return error_; }

private:
    struct slot {
        ufx_side *owner = nullptr;
        std::vector<unsigned char> source;
        unsigned index = 0;
        bool busy = false;
    };
    static void on_put(void *arg, ufx_ucp_request_h request,
                       const ufx_ucp_completion_t *completion) noexcept;
    void fail(const char *what, ufx_status_t status);
    void connect();
    void post(slot &s);
    void finish(slot &s, ufx_status_t status);
    void progress();

    ufx_ucp_context_h context_ = nullptr;
    ufx_ucp_worker_h sender_ = nullptr;
    ufx_ucp_worker_h receiver_ = nullptr;
    ufx_ucp_ep_h ep_ = nullptr;
    ufx_ucp_mem_h mem_ = nullptr;
    ufx_ucp_rkey_h rkey_ = nullptr;
    std::vector<unsigned char> target_;
    std::vector<slot> slots_;
    std::uint64_t checked_ = 0;
    std::uint64_t next_value_ = 1;
    unsigned in_flight_ = 0;
    std::string error_;
};

#endif
