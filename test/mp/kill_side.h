// SPDX-License-Identifier: BSD-3-Clause
// kill_side: one process of a pair that sends each other puts and messages over two rails, one of
// which breaks on the way, and checks that each operation completes once and arrives once.
#ifndef UFX_TEST_MP_KILL_SIDE_H
#define UFX_TEST_MP_KILL_SIDE_H

#include <cstdint>
#include <string>
#include <ufx/ucp.h>
#include <vector>

namespace ufx::test {

class kill_side {
public:
    /** @param partner a stream socket to the other process; @param starts makes the endpoint
     *  @param rests does nothing for a while before it works */
    kill_side(int partner, bool starts, bool rests);
    ~kill_side();

    /** Runs it all; returns the exit status, after one line on stdout that tells what it saw. */
    int run();

private:
    enum class kind { PUT, AM, RNDV };

    struct operation {
        kill_side *owner = nullptr;
        unsigned slot = 0;
        kind what = kind::PUT;
        uint64_t number = 0; ///< of its kind, from 1
        bool busy = false;
        unsigned completions = 0;
        std::vector<unsigned char> buffer;
    };

    void connect();
    void rest();
    void work();
    void post_next(operation &one);
    bool post(operation &one);
    void finish();
    void wait_for_rails();
    void break_rail_on_time();
    void verify_memory();
    void step();
    bool partner_says(char what);
    [[noreturn]] void give_up(const std::string &why);
    void receive(const unsigned char *data, size_t length);
    int survive();

    static void accept_cb(void *arg, ufx_ucp_ep_h ep) noexcept;
    static void event_cb(void *arg, ufx_ucp_ep_h ep, const ufx_ucp_ep_event_t *event) noexcept;
    static void done_cb(void *arg, ufx_ucp_request_h request,
                        const ufx_ucp_completion_t *completion) noexcept;
    static void received_cb(void *arg, ufx_ucp_request_h request,
                            const ufx_ucp_completion_t *completion) noexcept;
    static ufx_status_t am_cb(void *arg, const ufx_ucp_am_t *am) noexcept;

    int partner_;
    bool starts_, rests_;
    ufx_ucp_context_h context_ = nullptr;
    ufx_ucp_worker_h worker_ = nullptr;
    ufx_ucp_ep_h ep_ = nullptr;
    ufx_ucp_mem_h mem_ = nullptr;
    ufx_ucp_rkey_h rkey_ = nullptr;
    uint64_t remote_ = 0;
    std::vector<unsigned char> landing_;
    std::vector<unsigned char> rndv_;
    std::vector<operation> operations_;
    uint64_t posted_ = 0, completed_ = 0, failed_ = 0, twice_ = 0;
    uint64_t puts_ = 0, ams_ = 0, rndvs_ = 0;
    uint64_t ams_seen_ = 0, rndvs_seen_ = 0, wrong_ = 0;
    bool rndv_open_ = false;
    uint64_t errors_ = 0;
    std::string error_;
    uint64_t changes_ = 0; ///< of the rail that is cut
    bool partner_gone_ = false;
    std::string partner_said_;
    uint64_t deadline_ms_ = 0; ///< then it gives up, and shows its worker
};

} // namespace ufx::test

#endif
