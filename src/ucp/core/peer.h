// SPDX-License-Identifier: BSD-3-Clause
// All failover state between this worker and one peer worker: the single entrance for events.
//
// Every call takes the time and appends actions to `out`; nothing else happens. Events that do not fit
// the present state are late or duplicated and change nothing. Rails, lanes, seal records and eps are
// described in rail.h, lane.h, seal_book.h and ep.h.
#pragma once

#include "ucp/core/ep.h"
#include "ucp/core/rail.h"

#include <vector>

namespace ufx::ucp::core {

class peer {
public:
    // `starter`: the own uuid is the smaller one.
    peer(const config &cfg, bool starter) : cfg_(cfg), starter_(starter) {}

    // Set-up. Rails come UP when added; a new ep wires a lane on every rail that is UP.
    void add_rail(rail_id rail, time_ns now, action_list &out);
    ep &open_ep(ep_id own, ep_id peer_ep, std::uint64_t connection, error_mode mode, time_ns now,
                action_list &out);
    // Flush or cancel first. Ends in ep_closed.
    void close_ep(ep_id own, time_ns now, action_list &out);
    // After ep_closed, or after ep_error if the user destroys a dead ep.
    void forget_ep(ep_id own);

    // From the control path, and from the executor's clock.
    void control(const control_msg &msg, time_ns now, action_list &out);
    void timer(const timer_id &timer, time_ns now, action_list &out);
    // EOF and every address refuses, another uuid, or silence for UFX_PEER_TIMEOUT.
    void peer_dead(time_ns now, action_list &out);

    // Answers about lanes (see action.h).
    void lane_created(const lane_ref &lane, const lane_address &address, const token &tx,
                      time_ns now, action_list &out);
    void lane_connected(const lane_ref &lane, time_ns now, action_list &out);
    // An error of the uct ep, or an op's deadline on a posted fragment.
    void lane_failed(const lane_ref &lane, cause why, time_ns now, action_list &out);
    // `own_error`: the QP was in ERR before quiesce_lane, and its first error CQE was not RETRY_EXC.
    void lane_quiet(const lane_ref &lane, bool own_error, time_ns now, action_list &out);
    void receives_drained(const lane_ref &lane, time_ns now, action_list &out);
    void token_read(const lane_ref &lane, const landed_position &landed, time_ns now,
                    action_list &out);
    void purged(const lane_ref &lane, std::span<const purged_op> ops, time_ns now,
                action_list &out);

    // Signs of rails.
    void rail_soft(rail_id rail, sign which, cause why, time_ns now, action_list &out);
    void rail_hard(rail_id rail, cause why, time_ns now, action_list &out);
    void rail_progress(rail_id rail, time_ns now, action_list &out);
    void rail_port(rail_id rail, bool active, time_ns now, action_list &out);
    void probe_done(rail_id rail, epoch_t epoch, bool ok, time_ns now, action_list &out);
    void rail_idle(rail_id rail, time_ns now, action_list &out);
    // The user's administrative drain and resume; ends in admin_done.
    void admin(rail_id rail, admin_action what, time_ns now, action_list &out);

    ep *find_ep(ep_id own);
    const ep *find_ep(ep_id own) const;
    const rail *find_rail(rail_id rail) const;
    const std::vector<rail_id> &rail_ids() const { return rail_ids_; }
    // Ops may be posted on this lane.
    bool may_post(ep_id own, rail_id rail) const;
    bool any_rail_up() const;
    bool is_dead() const { return dead_; }
    const seal_book &book() const { return book_; }
    const std::vector<ep> &eps() const { return eps_; }

private:
    struct rail_entry {
        core::rail health;
        lane_slot probe; // ep 0
        resend probe_ok;
        resend admin;
        std::uint64_t admin_serial = 0; // of the own open ADMIN, 0 = none
        std::uint64_t peer_serial = 0;  // of the peer's DRAIN that waits for rail_idle
        bool admin_acked = false;
        bool idle = false;

        explicit rail_entry(rail_id id, std::uint64_t seed) : health(id, seed), probe(0, id) {}
    };
    template <class F> void on_rail(rail_entry &r, time_ns now, action_list &out, F event);
    template <class F> void on_lane(ep &e, lane_slot &lane, time_ns now, action_list &out, F event);
    template <class F> void on_probe(rail_entry &r, time_ns now, action_list &out, F event);
    template <class F> void on_ref(const lane_ref &ref, time_ns now, action_list &out, F event);

    config cfg_;
    bool starter_;
    bool dead_ = false;
    std::uint64_t serial_ = 0;
    std::vector<rail_entry> rails_;
    std::vector<rail_id> rail_ids_;
    std::vector<ep> eps_;
    seal_book book_;
};

} // namespace ufx::ucp::core
