// SPDX-License-Identifier: BSD-3-Clause
// An ep: what the user holds; one peer, its lanes, its data path (tx, rx), its end.
//
// CONNECTING -> CONNECTED (a lane is LIVE) -> CLOSING -> gone; or -> FAILED (all operations ended,
// lanes quiet, error delivered) -> CLOSING -> gone.
#ifndef UFX_UCP_EP_H
#define UFX_UCP_EP_H

#include "ucp/core/ep.h"
#include "ucp/ep_rx.h"
#include "ucp/ep_tx.h"
#include "ucp/handles.h"
#include "ucp/lane.h"

#include <new>
#include <string>
#include <vector>

namespace ufx::ucp {

class peer;
class request;
class worker;

// Connection numbers with this bit come by a listener: bits 32..47 are its port. The others pair
// two eps that were made to each other at once.
inline constexpr std::uint64_t listener_connection = std::uint64_t{1} << 63;

class ep : public ufx_ucp_ep {
public:
    // The worker owns what this makes.
    static ucs::result<ep *> create(worker &w, const ufx_ucp_ep_params_t &params);
    static ep &of(ufx_ucp_ep_h handle) { return *static_cast<ep *>(handle); }
    ep(worker &w, core::error_mode mode);
    ~ep();
    ep(const ep &) = delete;
    ep &operator=(const ep &) = delete;

    worker &home() const { return worker_; }
    core::ep_id id() const { return id_; }
    // Until the peer is known (ep by sockaddr) there is neither peer nor core: ops are only queued.
    bool has_peer() const { return peer_ != nullptr; }
    peer &remote() const { return *peer_; }
    // The failover core's view; nullptr before has_peer().
    core::ep *failover() const { return machine_; }
    core::error_mode mode() const { return mode_; }
    bool polls_memory() const { return (flags_ & UFX_UCP_EP_TARGET_POLLS_MEMORY) != 0; }
    ufx_ucp_ep_state_t state() const { return state_; }
    // OK while operations are accepted, else what they are refused with.
    ufx_status_t accepts() const
    {
        const bool alive = machine_ == nullptr || machine_->state() == core::ep::life::ALIVE;
        return closing_ || failed_ || !alive ? UFX_ERR_SHUTDOWN : UFX_OK;
    }
    const std::string &name() const { return name_; }
    std::uint64_t connection() const { return connection_; }

    // All lane objects, also those that are being sealed; see lane::is_open().
    const std::vector<lane *> &lanes() const { return lanes_; }
    lane *find_lane(core::rail_id rail, core::epoch_t epoch) const
    {
        for (lane *l : lanes_) {
            if (l->ref().rail == rail && l->ref().epoch == epoch) {
                return l;
            }
        }
        return nullptr;
    }
    void add_lane(lane &l) { lanes_.push_back(&l); }
    void remove_lane(lane &l);
    void lane_live();
    bool has_open_lane() const;
    // Operations that no lane has, and since when no lane could take them; 0: one can.
    std::size_t waiting() const;
    core::time_ns waits_since() const { return waits_since_; }
    void look_whether_it_waits(core::time_ns now);

    ep_tx tx;
    ep_rx rx;

    void set_event_cb(ufx_ucp_ep_event_cb_t cb, void *arg);
    void query(ufx_ucp_ep_attr_t &attr) const;
    ufx_status_t close(ufx_ucp_close_mode_t mode, const ufx_ucp_op_params_t *params,
                       ufx_ucp_request_h *out);

    // From the peer's executor.
    void join(peer &p, core::ep_id peer_ep, std::uint64_t connection);
    void on_error(ufx_status_t status, core::cause why, core::refusal code);
    // Runs `step`. Without memory for it the ep fails in the worker's next turn and is closed for
    // the peer, so that every operation has its end; until then it does nothing more.
    template <class F>
    void or_fail(F step)
    {
        try {
            if (!starved_) {
                step();
            }
        } catch (const std::bad_alloc &) {
            starve();
        }
    }
    bool is_starved() const { return starved_; }
    bool is_scheduled = false; // written by the worker
    // Throws bad_alloc: to be called again.
    [[gnu::cold]] void end_starving();
    void on_error_text(ufx_status_t status, ufx_ucp_refusal_t code, const std::string &text);
    // What a later on_error() is to say.
    void explain_error(ufx_status_t status, ufx_ucp_refusal_t code, const std::string &text);
    void on_transfers_dead();
    void on_closed() { closed_ = true; }

    // A close under way waits for no operation any more.
    void force();
    // From the worker's progress. Drives a close; true: the ep is over, destroy it.
    bool progress_close();
    // Runs event callbacks that are due, after the callbacks of the operations that ended.
    unsigned deliver_events();
    // The user was not told of it: it closes itself when the peer is done with it, unless somebody
    // sets an event callback before.
    void set_unattended() { unattended_ = true; }
    ucs::handle close_request() const { return close_request_; }
    // The peer is told that nothing comes from here any more.
    bool has_said_goodbye() const { return close_sent_; }

private:
    [[gnu::cold]] void starve() noexcept;
    struct event {
        ufx_ucp_ep_event_type_t type;
        ufx_status_t status;
        ufx_ucp_refusal_t code;
        std::string text;
    };
    void fail(event what);

    worker &worker_;
    core::ep_id id_;
    peer *peer_ = nullptr;
    core::ep *machine_ = nullptr; // of the peer's core
    core::error_mode mode_;
    std::uint64_t flags_ = 0;
    std::uint64_t connection_ = 0;
    ufx_ucp_ep_state_t state_ = UFX_UCP_EP_CONNECTING;
    bool closing_ = false;
    bool close_sent_ = false;
    bool closed_ = false;
    bool failed_ = false;
    bool forced_ = false;
    bool was_cut_ = false; // operations did not end by themselves
    bool unattended_ = false;
    bool starved_ = false;
    ucs::handle close_request_ = 0;
    ufx_ucp_ep_event_cb_t event_cb_ = nullptr;
    void *event_arg_ = nullptr;
    std::vector<event> events_;
    std::vector<event> explained_; // at most one
    std::string name_;
    core::time_ns waits_since_ = 0;
    std::vector<lane *> lanes_;
};

} // namespace ufx::ucp

#endif
