// SPDX-License-Identifier: BSD-3-Clause
// Everything the core asks its executor to do. Each handler says which event answers it.
//
// The executor drains the list in order after every event. It never calls back into the core while
// it drains: an answer that is known at once (a token, a purge) is queued and fed next.
#ifndef UFX_UCP_CORE_ACTION_H
#define UFX_UCP_CORE_ACTION_H

#include "ucp/core/control_msg.h"
#include "ucp/core/timer.h"

#include <ufx/status.h>

#include <variant>
#include <vector>

namespace ufx::ucp::core {

enum class rail_state : std::uint8_t { UP, SUSPECT, DRAINING, DOWN, PROBING };
const char *name_of(rail_state state);

// One lane of one ep at this side. ep 0 is the probe lane of a rail.
struct lane_ref {
    ep_id ep = 0;
    rail_id rail = 0;
    epoch_t epoch = 0;
    bool operator==(const lane_ref &) const = default;
};

namespace act {

// Send over the control path; from attempt 1 on also over every lane that is up.
struct send {
    control_msg msg;
    std::uint8_t attempt = 0;
};
// Call peer::timer(timer, now) at `at`; replaces an earlier deadline of the same timer.
struct arm_timer {
    timer_id timer;
    time_ns at = 0;
};
struct disarm_timer {
    timer_id timer;
};

// Make a uct ep for this lane. The answerer also gets the starter's address and token, and
// connects. Answer: peer::lane_created or peer::lane_failed.
struct create_lane {
    lane_ref lane;
    bool starter = false;
    lane_address address; // answerer only
    token tx;             // answerer only
};
// Connect the starter's uct ep. Answer: peer::lane_connected or peer::lane_failed.
struct connect_lane {
    lane_ref lane;
    lane_address address;
    token tx;
};
// The lane is LIVE (READY was sent, or received).
struct lane_live {
    lane_ref lane;
};
// Ops may (not) be posted on this lane: it is LIVE and its rail is UP, or no longer.
struct gate_lane {
    lane_ref lane;
    bool open = false;
};

// Steps 1 to 3 of a seal: refuse posts, close the QP, wait until quiet. Answer: peer::lane_quiet.
struct quiesce_lane {
    lane_ref lane;
};
// Step 4: enter every receive CQE into the window by ep::am_arrived, run no handler.
// Answer: peer::receives_drained.
struct drain_receives {
    lane_ref lane;
};
// Step 5. Answer: peer::token_read.
struct read_token {
    lane_ref lane;
};
// The peer's position is known: hand the uct ep's outstanding ops, in posting order, to
// peer::purged.
struct purge_lane {
    lane_ref lane;
    landed_position landed; // the peer's
};
// Nothing needs the uct ep any more. No answer.
struct release_lane {
    lane_ref lane;
};

// Post one signaled NOP. Its completion is progress: peer::rail_progress.
struct post_nop {
    lane_ref lane;
};
// Does this lane still hold fragments from before the port came back? If so: peer::lane_failed
// with STUCK_AFTER_FLAP.
struct check_stuck {
    lane_ref lane;
};
// Answer peer::rail_idle as soon as no op of ours is outstanding on that rail.
struct await_idle {
    rail_id rail = 0;
};
// Read the rail's addresses again and publish them (ADDR). No answer.
struct refresh_address {
    rail_id rail = 0;
};
// Five writes and read-backs in a row over the probe lane. Answer: peer::probe_done.
struct run_probe {
    rail_id rail = 0;
    epoch_t epoch = 0;
};

// For the user: rail events and the log.
struct rail_changed {
    rail_id rail = 0;
    rail_state from{};
    rail_state to{};
    cause why{};
};

// This fragment is final. Its op may have more; op_state counts them.
struct fragment_done {
    ep_id ep = 0;
    op_kind kind{};
    std::uint64_t handle = 0; // as given with the fragment
    std::uint64_t part = 0;   // AM: which fragment of the message, from 0
    ufx_status_t status = UFX_OK;
    cause why = cause::NONE;
    bool remote_final = true; // remote memory will not change any more because of it
};
// Ask ep::next_am and ep::next_replay again: something may be posted now.
struct replay_ready {
    ep_id ep = 0;
};

// A WANT or REQ of an ep that is not known here. Create one with peer::open_ep (its remote id is
// the message's src_ep, its connection the message's), then feed the message again; or answer
// REFUSED.
struct incoming_ep {
    control_msg msg;
};
// Every lane is quiet: no write of the peer lands any more, and what was posted has ended. End what
// was never posted with the same status, then deliver the error to the user.
struct ep_error {
    ep_id ep = 0;
    ufx_status_t status{};
    cause why{};
    refusal code = refusal::NONE; // if a handshake was refused for ever
};
// Transfers of the peer into this side's memory died with the ep (row M23); after ep_error.
struct peer_transfers_dead {
    ep_id ep = 0;
};
// close_ep is finished: nothing of the ep is left but its number.
struct ep_closed {
    ep_id ep = 0;
};
// An ADMIN request is finished here and at the peer.
struct admin_done {
    rail_id rail = 0;
    admin_action action{};
};

} // namespace act

using action_variant =
    std::variant<act::send, act::arm_timer, act::disarm_timer, act::create_lane, act::connect_lane,
                 act::lane_live, act::gate_lane, act::quiesce_lane, act::drain_receives,
                 act::read_token, act::purge_lane, act::release_lane, act::post_nop,
                 act::check_stuck, act::await_idle, act::refresh_address, act::run_probe,
                 act::rail_changed, act::fragment_done, act::replay_ready, act::incoming_ep,
                 act::ep_error, act::peer_transfers_dead, act::ep_closed, act::admin_done>;

// A class of its own for the reason that control_msg is one.
struct action : action_variant {
    using action_variant::action_variant;
    action(const action &);
    action(action &&) noexcept;
    action &operator=(const action &);
    action &operator=(action &&) noexcept;
    ~action();
};

// Reused by its owner: it grows to its high-water mark once.
using action_list = std::vector<action>;

} // namespace ufx::ucp::core

#endif
