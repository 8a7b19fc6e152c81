// SPDX-License-Identifier: BSD-3-Clause
// What the eps of all transports share: states, refusal of posts, errors, flush, purge, pending.
#ifndef UFX_UCT_BASE_EP_BASE_H
#define UFX_UCT_BASE_EP_BASE_H

#include "ep_error.h"
#include "judge.h"
#include "make_ops.h"
#include "op_push.h"
#include "pending.h"

#include "ucs/result.h"

#include <cassert>
#include <vector>

namespace ufx::uct {

template <class Ep>
inline constexpr ufx_uct_ep_ops_t live_ep_ops = make_ep_ops<Ep>();
template <class Ep>
inline constexpr ufx_uct_ep_ops_t busy_ep_ops = make_refusing_ep_ops<Ep, refuse_busy>();
template <class Ep>
inline constexpr ufx_uct_ep_ops_t failed_ep_ops = make_refusing_ep_ops<Ep, refuse_failed>();

// States, and which table of operations `ops` points to:
//
//   INIT ----------> LIVE ------------------> DEFERRED ---outstanding_purge---> PURGED
//   busy  go_live()  live, or busy while  |   failed         failed, nothing outstanding
//     |              requests are pending |      |
//     +--------------------+--------------+------+---flush(CANCEL), or the handler did not say
//                          |                         IN_PROGRESS---> DEAD (failed)
//                          +-- fail() tells the error handler, invalidate() does not
//
// So an ep that takes no posts costs the hot path nothing. While a pending request of the ep runs,
// the ep's table is the live one: nothing else can overtake it.
//
// A transport derives `class my_ep : public ep_base<my_ep, my_iface>` and gives, besides its
// posting methods:
//   void quiesce() noexcept            the ep leaves LIVE: use no local buffer, apply nothing more
//                                      of the peer; called once, before callbacks
//   bool can_post() const noexcept     would an ordinary post find resources now?
// and, if its device uses local buffers for a while after quiesce():
//   bool is_locally_quiet() const noexcept
//       Operations are ended only then; it calls finish_ending() when that has become true.
// A transport that can say what landed derives from failover_ep instead (failover_ep.h).
template <class Ep, class Iface>
class ep_base : public ufx_uct_ep {
public:
    ep_base(const ep_base &) = delete;
    ep_base &operator=(const ep_base &) = delete;

    [[nodiscard]] ufx_uct_ep_state_t state() const noexcept { return state_; }

    [[nodiscard]] Iface &iface() const noexcept { return iface_; }

    // What posts on a failed ep return.
    [[nodiscard]] ufx_status_t failed_status() const noexcept { return error_.status(); }

    [[nodiscard]] bool is_failed() const noexcept { return closing_; }

    [[nodiscard]] const op_queue &queue() const noexcept { return queue_; }

    // ---- Slots of the ops table --------------------------------------------------------------

    void destroy() noexcept
    {
        iface_.pending().clear(pending_);
        close_admission(error_of(UFX_ERR_SHUTDOWN, UFX_UCT_CAUSE_NONE, "destroyed"));
        queue_.drop();
        cancel_comps_.clear();
        state_ = UFX_UCT_EP_DEAD;
        destroyed_ = true;
        iface_.remove(self());
    }

    ufx_status_t pending_add(ufx_uct_pending_req_t *req) noexcept
    {
        if (closing_) {
            return failed_status();
        }
        if (pending_.empty() && state_ == UFX_UCT_EP_LIVE && self().can_post()) {
            return UFX_ERR_BUSY;
        }
        iface_.pending().add(pending_, req);
        iface_.need_attention();
        select_ops();
        return UFX_OK;
    }

    void pending_purge(ufx_uct_pending_purge_cb_t cb, void *arg) noexcept
    {
        while (!pending_.empty()) {
            ufx_uct_pending_req_t *req = iface_.pending().take(pending_);
            if (cb != nullptr) {
                cb(req, arg);
            }
        }
        select_ops();
    }

    // For transports whose completions mean "applied": LOCAL and REMOTE are the same marker.
    ufx_status_t flush(unsigned flags, ufx_uct_completion_t *comp)
    {
        if ((flags & ~unsigned{UFX_UCT_FLUSH_REMOTE | UFX_UCT_FLUSH_CANCEL}) != 0) {
            return UFX_ERR_INVALID_PARAM;
        }
        if ((flags & UFX_UCT_FLUSH_CANCEL) != 0) {
            return flush_cancel(comp);
        }
        if (closing_) {
            return failed_status();
        }
        if (queue_.empty()) {
            return UFX_OK;
        }
        if (comp == nullptr) {
            return UFX_INPROGRESS;
        }
        bool remote = (flags & UFX_UCT_FLUSH_REMOTE) != 0;
        return queue_.push_marker(remote, comp) != nullptr ? UFX_INPROGRESS : UFX_ERR_NO_RESOURCE;
    }

    ufx_status_t query(ufx_uct_ep_attr_t *attr) noexcept
    {
        if ((attr->field_mask & UFX_UCT_EP_ATTR_STATE) != 0) {
            attr->state = state_;
        }
        if ((attr->field_mask & UFX_UCT_EP_ATTR_USER_DATA) != 0) {
            attr->user_data = user_data_;
        }
        if ((attr->field_mask & UFX_UCT_EP_ATTR_OUTSTANDING) != 0) {
            attr->outstanding_ops = queue_.size();
            attr->outstanding_bytes = queue_.bytes();
        }
        if ((attr->field_mask & UFX_UCT_EP_ATTR_PROGRESS) != 0) {
            attr->completed_ops = queue_.completed();
            attr->acked_bytes = 0;
            attr->network_unacked = 0;
            attr->srtt_ns = 0;
        }
        if ((attr->field_mask & UFX_UCT_EP_ATTR_TX_TOKEN) != 0) {
            attr->tx_token_len = 0;
        }
        if ((attr->field_mask & UFX_UCT_EP_ATTR_LOCAL_NAME) != 0) {
            attr->name[0] = '\0';
        }
        return UFX_OK;
    }

    // ---- For the iface -----------------------------------------------------------------------

    // Delivers what waits for progress: an error, or the end of a cancel.
    void deliver() noexcept
    {
        attention_ = false;
        if (destroyed_) {
            return;
        }
        if (error_waits_ && !canceling_) {
            error_waits_ = false;
            deliver_error();
        }
        end_if_quiet();
    }

    // One turn of a request that was taken out of the queue.
    pending_turn run_pending(ufx_uct_pending_req_t *req) noexcept
    {
        if (state_ == UFX_UCT_EP_INIT || state_ == UFX_UCT_EP_DEFERRED ||
            state_ == UFX_UCT_EP_PURGED || (!closing_ && !self().can_post())) {
            return pending_turn::stays; // a failed ep keeps them for pending_purge()
        }
        in_pending_ = true;
        select_ops();
        ufx_status_t status = req->func(req);
        in_pending_ = false;
        if (destroyed_) {
            return pending_turn::gone;
        }
        select_ops(status != UFX_OK);
        return status == UFX_OK ? pending_turn::finished : pending_turn::stays;
    }

    // True if a turn of the oldest pending request would not be in vain.
    [[nodiscard]] bool may_run_pending() noexcept
    {
        return !pending_.empty() && state_ == UFX_UCT_EP_LIVE && !closing_ && self().can_post();
    }

    [[nodiscard]] static Ep &of(const pending_group &group) noexcept
    {
        return static_cast<Ep &>(*static_cast<ep_base *>(group.owner()));
    }

    size_t slot = 0; // place in the iface's list of eps

protected:
    ep_base(Iface &iface, const ufx_uct_ep_params_t &params, size_t max_ops, size_t max_data)
        : ufx_uct_ep{&busy_ep_ops<Ep>}, queue_(max_ops, max_data), pending_(this), iface_(iface),
          user_data_((params.field_mask & UFX_UCT_EP_PARAM_USER_DATA) != 0 ? params.user_data
                                                                           : nullptr)
    {
    }

    ~ep_base() = default;

    // The connection is made.
    void go_live() noexcept
    {
        if (state_ == UFX_UCT_EP_INIT && !closing_) {
            state_ = UFX_UCT_EP_LIVE;
            select_ops();
        }
    }

    // The connection broke. Posts are refused from now on; the error handler runs at the end of
    // this progress call, or in the next one. Only the first error counts.
    void fail(const ufx_uct_error_t &error) noexcept
    {
        if (closing_) {
            return;
        }
        error_waits_ = true;
        close_admission(error);
        request_attention();
    }

    // For a side that is closed on purpose: DEFERRED without the error handler.
    void defer_silently(const ufx_uct_error_t &error) noexcept
    {
        if (state_ == UFX_UCT_EP_INIT || state_ == UFX_UCT_EP_LIVE) {
            close_admission(error);
            error_waits_ = false;
            state_ = UFX_UCT_EP_DEFERRED;
        }
    }

    // Local buffers are not used any more.
    void finish_ending() noexcept
    {
        if (ending_ || canceling_) {
            request_attention();
        }
    }

    // Every outstanding operation was handed out.
    void set_purged() noexcept { state_ = UFX_UCT_EP_PURGED; }

    [[nodiscard]] bool is_destroyed() const noexcept { return destroyed_; }

    op_queue queue_;

private:
    Ep &self() noexcept { return static_cast<Ep &>(*this); }

    // `waiting`: a request that is out of the queue now will be put back.
    void select_ops(bool waiting = false) noexcept
    {
        waiting = waiting || !pending_.empty();
        if (closing_) {
            ops = &failed_ep_ops<Ep>;
        } else if (state_ != UFX_UCT_EP_LIVE || (waiting && !in_pending_)) {
            ops = &busy_ep_ops<Ep>;
        } else {
            ops = &live_ep_ops<Ep>;
        }
    }

    // First step of every failure (M07): nothing new comes in, then what is there is ended.
    void close_admission(const ufx_uct_error_t &error) noexcept
    {
        if (closing_) {
            return;
        }
        error_ = ep_error(error);
        closing_ = true;
        select_ops();
        self().quiesce();
    }

    void request_attention() noexcept
    {
        if (!attention_) {
            attention_ = true;
            iface_.add_attention(self());
        }
    }

    // DEFERRED already during the handler, so that it may purge or destroy.
    void deliver_error() noexcept
    {
        state_ = UFX_UCT_EP_DEFERRED;
        ufx_uct_error_t error = error_.view();
        ufx_status_t answer = iface_.tell_error(*this, error);
        ending_ = answer != UFX_INPROGRESS && state_ == UFX_UCT_EP_DEFERRED;
    }

    // Ends what is outstanding, if it has to be ended and no device uses its buffers any more.
    void end_if_quiet() noexcept
    {
        if (destroyed_ || !is_quiet()) {
            return;
        }
        if (canceling_) {
            finish_cancel();
        } else if (ending_) {
            ending_ = false;
            state_ = UFX_UCT_EP_DEAD;
            queue_.complete_all(error_.status());
        }
    }

    [[nodiscard]] bool is_quiet() noexcept
    {
        if constexpr (requires { self().is_locally_quiet(); }) {
            return self().is_locally_quiet();
        } else {
            return true;
        }
    }

    ufx_status_t flush_cancel(ufx_uct_completion_t *comp)
    {
        if ((state_ == UFX_UCT_EP_PURGED || state_ == UFX_UCT_EP_DEAD) && !canceling_) {
            return UFX_OK;
        }
        if (comp != nullptr) {
            cancel_comps_.push_back(comp);
        }
        if (!canceling_) {
            canceling_ = true;
            close_admission(
                error_of(UFX_ERR_CANCELED, UFX_UCT_CAUSE_CANCELED, "canceled by flush"));
            request_attention();
        }
        return UFX_INPROGRESS;
    }

    void finish_cancel() noexcept
    {
        state_ = UFX_UCT_EP_DEAD;
        ending_ = false;
        queue_.complete_all(UFX_ERR_CANCELED);
        std::vector<ufx_uct_completion_t *> comps = std::move(cancel_comps_);
        canceling_ = false;
        for (ufx_uct_completion_t *comp : comps) {
            finish(comp, UFX_OK);
            if (destroyed_) {
                return;
            }
        }
    }

    pending_group pending_;
    ep_error error_;
    Iface &iface_;
    void *user_data_;
    std::vector<ufx_uct_completion_t *> cancel_comps_;
    ufx_uct_ep_state_t state_ = UFX_UCT_EP_INIT;
    bool closing_ = false;     // posts are refused for good
    bool error_waits_ = false; // for delivery from progress
    bool canceling_ = false;
    bool ending_ = false;    // nobody keeps what is outstanding
    bool attention_ = false; // is in the iface's list
    bool in_pending_ = false;
    bool destroyed_ = false;
};

} // namespace ufx::uct

#endif
