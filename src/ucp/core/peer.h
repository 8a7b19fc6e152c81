// SPDX-License-Identifier: BSD-3-Clause
// All failover state between this worker and one peer worker: the single entrance for events.
//
// Every call takes the time and appends actions to `out`; nothing else happens. Events that do not
// fit the present state are late or duplicated and change nothing. Rails, lanes, seal records and
// eps are described in rail.h, lane.h, seal_book.h and ep.h.
#ifndef UFX_UCP_CORE_PEER_H
#define UFX_UCP_CORE_PEER_H

#include "ucp/core/ep.h"
#include "ucp/core/rail.h"

#include <map>
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
    // Answers act::incoming_ep when no ep is to be made.
    void refuse_ep(const control_msg &msg, refusal code, action_list &out);
    // Flush or cancel first; `is_cut`: operations were canceled, or had failed. Ends in ep_closed.
    void close_ep(ep_id own, bool is_cut, time_ns now, action_list &out);
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
    // A lane could not be made or connected though nothing is wrong with the device: `code` tells
    // the peer, and speaks neither against the rail nor for a second error of the lane.
    void lane_not_made(const lane_ref &lane, refusal code, time_ns now, action_list &out);
    // An error of the uct ep, or an op's deadline on a posted fragment.
    void lane_failed(const lane_ref &lane, cause why, time_ns now, action_list &out);
    // `own_error`: the QP was in ERR before quiesce_lane, and its first error CQE was not
    // RETRY_EXC.
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

    // Stays where it is until forget_ep().
    ep *find_ep(ep_id own);
    const ep *find_ep(ep_id own) const;
    const rail *find_rail(rail_id rail) const;
    const std::vector<rail_id> &rail_ids() const { return rail_ids_; }
    // Ops may be posted on this lane.
    bool may_post(ep_id own, rail_id rail) const;
    bool any_rail_up() const;
    bool is_dead() const { return dead_; }
    const seal_book &book() const { return book_; }
    const std::map<ep_id, ep> &eps() const { return eps_; }

    // Every part of the state that can make a difference, for the explorer: no clocks, no counts of
    // attempts.
    template <class V>
    void fold(V &v) const
    {
        v(dead_);
        for (const rail_entry &r : rails_) {
            r.health.fold(v);
            r.probe.fold(v);
            v(r.admin_serial);
            v(r.peer_serial);
            v(r.peer_waits);
            v(r.idle);
            v(r.asked_here);
        }
        for (const auto &[id, e] : eps_) {
            e.fold(v);
        }
        book_.fold(v);
    }

private:
    struct rail_entry {
        core::rail health;
        lane_slot probe; // ep 0
        resend probe_ok;
        resend admin;
        std::uint64_t admin_serial = 0; // of the own open ADMIN, 0 = none
        admin_action admin_what{};
        bool admin_open = false;       // admin_done is owed to the user
        bool asked_here = false; // the drain in force was asked for by this side, which ends it
        std::uint64_t peer_serial = 0; // of the peer's newest ADMIN
        bool peer_waits = false;       // it is a DRAIN that is not acked yet
        bool idle = false;             // no own op is outstanding on it
        ep_id held_by = 0; // an ep that had a lane on it when check_drained() looked last

        explicit rail_entry(rail_id id, std::uint64_t seed) : health(id, seed), probe(0, id) {}
    };
    // Run one event of a rail, a lane, or a probe lane, then act on what it changed.
    template <class F>
    void on_rail(rail_entry &r, time_ns now, action_list &out, F event);
    template <class F>
    void on_lane(ep &e, lane_slot &lane, time_ns now, action_list &out, F event);
    template <class F>
    void on_probe(rail_entry &r, time_ns now, action_list &out, F event);
    // Either kind of lane, by name.
    template <class F>
    void on_ref(const lane_ref &ref, time_ns now, action_list &out, F event);
    template <class F>
    void each_lane(rail_id rail, time_ns now, action_list &out, F event);

    rail_entry *rail_of(rail_id rail);
    rail_env env_of(const rail_entry &r, time_ns now, action_list &out);
    lane_env env_of(ep &e, const lane_slot &lane, time_ns now, action_list &out);
    lane_env probe_env(rail_entry &r, time_ns now, action_list &out);
    refusal probe_barrier(const rail_entry &r, time_ns now) const;
    bool up_beside(rail_id rail) const;

    void after_rail(rail_entry &r, rail_state before, time_ns now, action_list &out);
    void stop_lanes(rail_entry &r, cause why, time_ns now, action_list &out);
    void start_lanes(rail_id rail, time_ns now, action_list &out);
    void nop_lanes(rail_id rail, action_list &out);
    bool has_lanes(rail_entry &r) const;
    void check_drained(rail_entry &r, time_ns now, action_list &out);
    void finish_drain(rail_entry &r, bool at_limit, time_ns now, action_list &out);
    void check_admin_done(rail_entry &r, action_list &out);
    void start_probe(rail_entry &r, time_ns now, action_list &out);
    void send_probe_ok(rail_entry &r, time_ns now, action_list &out);
    void send_admin(rail_entry &r, admin_action what, time_ns now, action_list &out);
    void update_gate(const ep &e, lane_slot &lane, action_list &out);
    bool retry_open(rail_id rail) const;
    void signs_to_rail(rail_entry &r, const lane_env &found, time_ns now, action_list &out);

    void fail_ep(ep &e, ufx_status_t status, cause why, refusal code, time_ns now,
                 action_list &out);
    void check_life(ep &e, action_list &out);
    void check_closed(ep &e, action_list &out);
    void send_close(ep &e, time_ns now, action_list &out);

    // Messages.
    void on_msg(const hello_msg &, time_ns, action_list &) {}
    void on_msg(const addr_msg &, time_ns, action_list &) {}
    void on_msg(const addr_ack_msg &, time_ns, action_list &) {}
    void on_msg(const rkey_req_msg &, time_ns, action_list &) {}
    void on_msg(const rkey_rep_msg &, time_ns, action_list &) {}
    void on_msg(const revoke_msg &, time_ns, action_list &) {}
    void on_msg(const revoke_ack_msg &, time_ns, action_list &) {}
    void on_msg(const suspect_hint_msg &msg, time_ns now, action_list &out);
    void on_msg(const seal_msg &msg, time_ns now, action_list &out);
    void on_msg(const seal_ack_msg &msg, time_ns now, action_list &out);
    void on_msg(const lane_want_msg &msg, time_ns now, action_list &out);
    void on_msg(const lane_req_msg &msg, time_ns now, action_list &out);
    void on_msg(const lane_rep_msg &msg, time_ns now, action_list &out);
    void on_msg(const lane_ready_msg &msg, time_ns now, action_list &out);
    void on_msg(const lane_refused_msg &msg, time_ns now, action_list &out);
    void on_msg(const probe_ok_msg &msg, time_ns now, action_list &out);
    void on_msg(const window_req_msg &msg, time_ns now, action_list &out);
    void on_msg(const window_ack_msg &msg, time_ns now, action_list &out);
    void on_msg(const admin_msg &msg, time_ns now, action_list &out);
    void on_msg(const admin_ack_msg &msg, time_ns now, action_list &out);
    void on_msg(const ep_close_msg &msg, time_ns now, action_list &out);
    void on_msg(const ep_close_ack_msg &msg, time_ns now, action_list &out);
    template <class M, class F>
    bool to_lane(const M &msg, time_ns now, action_list &out, F event);
    static void refuse(const lane_name &theirs, refusal code, bool of_want, action_list &out);
    bool is_unknown(const seal_msg &msg);
    void seal_unknown(const seal_msg &msg, time_ns now, action_list &out);
    ep *ep_of(ep_id own, ep_id theirs);
    void window_timer(ep &e, time_ns now, action_list &out);
    void rail_timer(rail_entry &r, timer_kind kind, time_ns now, action_list &out);

    config cfg_;
    bool starter_;
    bool dead_ = false;
    std::uint64_t serial_ = 0;
    std::vector<rail_entry> rails_;
    std::vector<rail_id> rail_ids_;
    std::map<ep_id, ep> eps_; // by own id
    seal_book book_;
};

} // namespace ufx::ucp::core

#endif
