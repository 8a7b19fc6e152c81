// SPDX-License-Identifier: BSD-3-Clause
// A worker: one progress domain with its rails, control path, peers, eps, requests and handlers.
//
// A progress call has two halves. The inner one moves bytes and state: uct, control path, timers,
// the core's actions, posting. The outer one runs the user's callbacks. The progress thread
// (UFX_PROGRESS_THREAD) does the inner half only.
#ifndef UFX_UCP_WORKER_H
#define UFX_UCP_WORKER_H

#include "ucp/am_handlers.h"
#include "ucp/context.h"
#include "ucp/core/control_msg.h"
#include "ucp/failover_stats.h"
#include "ucp/handles.h"
#include "ucp/rail.h"
#include "ucp/request_pool.h"
#include "ucp/silence.h"
#include "ucs/clock.h"
#include "ucs/event_loop.h"
#include "ucs/handle_table.h"
#include "ucs/timer_wheel.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ufx::ucp {

class control_path;
class debug_socket;
class ep;
class listener;
class peer;
class progress_thread;
class wakeup;

class worker : public ufx_ucp_worker {
public:
    static ucs::result<ucs::owner<worker>> create(context &ctx,
                                                  const ufx_ucp_worker_params_t *params);
    static worker &of(ufx_ucp_worker_h handle) { return *static_cast<worker *>(handle); }
    ~worker();
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;

    // Taken by every public call; does nothing in SINGLE mode. Recursive: callbacks may post.
    using guard = std::unique_lock<std::recursive_mutex>;
    guard lock()
    {
        if (!multi_) {
            return guard(mutex_, std::defer_lock);
        }
        waiting_.fetch_add(1, std::memory_order_relaxed);
        guard held(mutex_);
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        return held;
    }
    // Before progress: a thread that spins in it lets those through that wait to post.
    void let_others_in()
    {
        if (multi_ && waiting_.load(std::memory_order_relaxed) != 0) {
            gave_way_.fetch_add(1, std::memory_order_relaxed);
            std::this_thread::yield();
        }
    }
    std::uint64_t gave_way() const { return gave_way_.load(std::memory_order_relaxed); }

    context &ctx() const { return ctx_; }
    const config &cfg() const { return ctx_.cfg(); }
    std::uint64_t uuid() const { return uuid_; }
    const std::string &name() const { return name_; }
    core::time_ns now() const { return ucs::now_ns(); }
    // Time in which progress was called now and then: silence is measured by it.
    core::time_ns attended_time() const { return attended_; }
    // Last progress, also of the progress thread.
    core::time_ns last_turn() const { return last_turn_; }
    // The process was forked since: this worker belongs to the parent.
    bool is_forked() const;

    unsigned progress();
    // The half that runs no callback of the user.
    unsigned progress_inner();
    core::time_ns last_user_progress() const
    {
        return user_progress_.load(std::memory_order_relaxed);
    }
    ufx_uct_worker_h uct() const { return uct_; }
    ucs::event_loop &loop() { return *loop_; }
    ucs::timer_wheel &timers() { return timers_; }
    control_path &control() { return *control_; }
    wakeup &wake() { return *wakeup_; }
    // When the inner half wants to run again without a reason from outside.
    core::time_ns next_deadline();
    // There is something to do at once.
    bool has_work();
    // Something was queued by a call outside progress: wake a thread that waits.
    void kick();

    // Index = rail index.
    const std::vector<ucs::owner<rail>> &rails() const { return rails_; }
    // A device name, or "railN".
    rail *find_rail(std::string_view name) const;
    // Carries eps to the own worker; its index is behind the others'.
    rail *self_rail() const { return self_rail_.get(); }

    // Peers and eps.
    peer *find_peer(std::uint64_t uuid) const;
    ucs::result<peer *> get_peer(const worker_address &address);
    ucs::result<peer *> self_peer();
    const std::vector<ucs::owner<peer>> &peers() const { return peers_; }
    core::ep_id register_ep(ep &e) { return eps_.insert(e); }
    void unregister_ep(ep &e);
    ep *find_ep(core::ep_id id) const { return eps_.find(id); }
    void adopt(ucs::owner<ep> e);
    const std::vector<ucs::owner<ep>> &eps() const { return owned_eps_; }
    void accept_ep(peer &from, core::ep_id peer_ep, std::uint64_t connection,
                   core::error_mode mode);
    // The close of that request waits for nothing any more.
    void force_close(ucs::handle request);
    void note_closing(ep &e) { closing_.push_back(&e); }
    std::uint64_t next_listener_connection(const sockaddr_storage &remote);
    // ep::tx and ep::rx get a turn in this progress, or the next.
    void schedule(ep &e);

    worker_address make_address() const;
    // What of it is about one rail, as it is now.
    rail_address address_of(const rail &r) const;
    void rail_event(const peer &p, unsigned local_index, ufx_ucp_rail_state_t from,
                    ufx_ucp_rail_state_t to, const char *cause);
    // Runs `callback` in the outer half, unless `owner` is withdrawn before.
    void defer(std::function<void()> callback, const void *owner);
    void withdraw(const void *owner);
    bool has_deferred() const { return !deferred_.empty(); }
    // Eps that wait for the outer half; each is there once.
    std::size_t eps_to_deliver() const { return outer_.size(); }

    failover_stats stats;
    request_pool requests;
    am_handlers handlers;
    std::vector<listener *> listeners;

private:
    friend struct ucs::owner_access;
    struct deferred {
        std::function<void()> callback;
        const void *owner;
    };
    worker(context &ctx, const ufx_ucp_worker_params_t &params);
    ufx_status_t open();
    void open_debug_socket();
    unsigned progress_outer();
    unsigned run_peers();
    static bool run_all(const std::vector<ucs::owner<peer>> &list);
    unsigned run_closes();
    void count_time(core::time_ns now);
    void poll(core::time_ns now);
    void sweep_peers();

    context &ctx_;
    bool multi_ = false;
    std::string name_;
    std::uint64_t uuid_;
    int pid_;
    ufx_ucp_rail_event_cb_t rail_event_cb_ = nullptr;
    void *rail_event_arg_ = nullptr;
    ufx_ucp_ep_accept_cb_t ep_accept_cb_ = nullptr;
    void *ep_accept_arg_ = nullptr;
    std::atomic<unsigned> waiting_{0}; // threads in lock(); relaxed, a hint
    std::atomic<std::uint64_t> gave_way_{0}; // how often; for tests; relaxed
    std::recursive_mutex mutex_;
    ufx_uct_worker_h uct_ = nullptr;
    ucs::owner<ucs::event_loop> loop_;
    ucs::timer_wheel timers_;
    std::unique_ptr<wakeup> wakeup_;
    std::vector<ucs::owner<rail>> rails_;
    ucs::owner<rail> self_rail_;
    std::unique_ptr<control_path> control_;
    ucs::owner<debug_socket> debug_; // if UFX_DEBUG_SOCKET asks for it
    std::vector<ucs::owner<peer>> peers_;
    std::vector<ucs::owner<peer>> twins_; // none, or both ends of the eps to the own worker
    ucs::handle_table<ep> eps_;
    std::vector<ucs::owner<ep>> owned_eps_;
    std::vector<ep *> scheduled_;
    std::vector<ep *> running_; // the inner half's turn
    std::vector<ep *> outer_;   // wait for the outer half's turn
    std::vector<ep *> closing_;
    std::vector<ep *> turn_; // the outer half's turn; left over if that ended early
    std::vector<deferred> deferred_;
    std::vector<deferred> due_; // those of them whose turn it is
    std::uint32_t next_connection_ = 0;
    core::time_ns active_ = 0; // in which progress was called often: stalls are measured by it
    core::time_ns attended_ = 0;
    core::time_ns last_turn_ = 0;
    queue_silence silence_;
    core::time_ns next_poll_ = 0;
    core::time_ns next_loop_ = 0;
    unsigned quiet_turns_ = 0;
    std::atomic<core::time_ns> user_progress_{0}; // last progress of the user; relaxed
    std::unique_ptr<progress_thread> thread_;
};

} // namespace ufx::ucp

#endif
