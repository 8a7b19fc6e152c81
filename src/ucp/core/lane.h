// SPDX-License-Identifier: BSD-3-Clause
// The lanes of one (ep, rail), one after the other: handshake, life, seal exchange.
//
//   GONE       no lane. The starter (smaller uuid) begins with REQ, the other side asks with WANT
//   SHAKING    starter:  CREATING -> REQ_SENT -> (REP) CONNECTING -> LIVE, READY sent
//              answerer: (REQ) CREATING -> REP_SENT -> (READY) LIVE
//   LIVE       posts and receives
//   SEALING    QUIESCING -> DRAINING_RX -> READING_TOKEN: steps 1 to 5; refuses posts
//   SEAL_SENT  quiet here, own SEAL sent; waits for the peer's
//   JUDGING    holds the peer's SEAL; the uct ep's outstanding ops are being purged
//   PURGED     every fragment is judged or frozen; a new lane may start
//
// A SEAL for a SHAKING lane: a starter that has not sent READY has received nothing and posted
// nothing, and so has an answerer that has not sent REP: the lane is killed and answered with the
// token "nothing". An answerer that has sent REP already receives: it seals like LIVE. A dead lane
// is replaced by one of a higher epoch, never revived. Records of SEALs live in the seal_book.
//
// The same class shakes hands for a rail's probe lane (ep 0), which is never sealed: nothing that
// it carries is judged, so it is just released.
#ifndef UFX_UCP_CORE_LANE_H
#define UFX_UCP_CORE_LANE_H

#include "ucp/core/action.h"
#include "ucp/core/config.h"
#include "ucp/core/seal_book.h"

#include <optional>

namespace ufx::ucp::core {

enum class lane_state : std::uint8_t { GONE, SHAKING, LIVE, SEALING, SEAL_SENT, JUDGING, PURGED };
enum class shake_step : std::uint8_t { NONE, WANTING, CREATING, REQ_SENT, CONNECTING, REP_SENT };
enum class seal_step : std::uint8_t { NONE, QUIESCING, DRAINING_RX, READING_TOKEN };
const char *name_of(lane_state state);
const char *name_of(shake_step step);

// What one event of a lane may look at, where its actions go, and what it found out.
struct lane_env {
    time_ns now = 0;
    const config &cfg;
    bool starter = false; // own uuid is the smaller one
    // Of the ep.
    ep_id own_ep = 0;
    ep_id peer_ep = 0;
    std::uint64_t connection = 0;
    error_mode mode = error_mode::FAILOVER;
    bool dying = false; // no new lane
    bool peer_dead = false;
    const core::window *rx_window = nullptr;
    // Of the rail: NONE = a lane may be wired, else the refusal for the peer.
    refusal barrier = refusal::NONE;
    std::uint32_t damped_ms = 0;
    seal_book &book;
    action_list &out;

    // Found out; peer acts on them after the event.
    cause hard_sign = cause::NONE;
    cause soft_sign = cause::NONE;
    bool retry_explained = false;
    bool rebuild = false;            // the slot came free: start the next lane at once
    std::uint32_t damped_for_ms = 0; // the peer said DAMPED
    refusal final_refusal = refusal::NONE;
};

class lane_slot {
public:
    lane_slot(ep_id ep, rail_id rail) : ep_(ep), rail_(rail) {}

    rail_id rail() const { return rail_; }
    lane_state state() const { return state_; }
    shake_step step() const { return step_; }
    seal_step seal() const { return seal_; }
    epoch_t epoch() const { return epoch_; }
    epoch_t highest() const { return highest_; }
    bool is_live() const { return state_ == lane_state::LIVE; }
    // Why it left LIVE.
    cause why() const { return why_; }
    // peer's note of what it told the executor last (gate_lane).
    bool gate_open() const { return gate_open_; }
    void set_gate(bool open) { gate_open_ = open; }
    // No lane is being judged or built: a new one may start.
    bool is_free() const { return state_ == lane_state::GONE || state_ == lane_state::PURGED; }
    lane_ref ref() const { return {ep_, rail_, epoch_}; }

    // Begin a new lane if the slot is free and nothing forbids it.
    void start(lane_env &env);
    // A probe lane is not needed any more.
    void release_probe(lane_env &env);
    void timer(lane_env &env, timer_kind kind);
    // Gives up a lane or a wish for one because its rail drains or its ep dies.
    void stop(lane_env &env, cause why);

    // Control messages for this slot.
    void on_want(lane_env &env, const lane_want_msg &msg);
    void on_req(lane_env &env, const lane_req_msg &msg);
    void on_rep(lane_env &env, const lane_rep_msg &msg);
    void on_ready(lane_env &env, const lane_ready_msg &msg);
    void on_refused(lane_env &env, const lane_refused_msg &msg);
    void on_seal(lane_env &env, const seal_msg &msg);

    // The executor's answers. Those of another epoch are late and ignored.
    void created(lane_env &env, epoch_t epoch, const lane_address &address, const token &tx);
    void connected(lane_env &env, epoch_t epoch);
    void failed(lane_env &env, epoch_t epoch, cause why);
    void not_made(lane_env &env, epoch_t epoch, refusal code);
    void quiet(lane_env &env, epoch_t epoch, bool own_error);
    void receives_drained(lane_env &env, epoch_t epoch);
    void token_read(lane_env &env, epoch_t epoch, const landed_position &landed);
    void purged(lane_env &env, epoch_t epoch);

    // The peer's SEAL for the current lane, while it is JUDGING.
    const std::optional<seal_msg> &peer_seal() const { return peer_seal_; }

    template <class V>
    void fold(V &v) const
    {
        v(static_cast<std::uint8_t>(state_));
        v(static_cast<std::uint8_t>(step_));
        v(static_cast<std::uint8_t>(seal_));
        v(epoch_);
        v(highest_);
        v(static_cast<std::uint8_t>(why_));
        v(own_error_);
        v(error_recent_);
        v(back_off_);
        v(gate_open_);
        v(peer_seal_.has_value());
        if (peer_seal_) {
            v.message(*peer_seal_);
        }
    }

private:
    bool is_probe() const { return ep_ == 0; }
    lane_name name(const lane_env &env, epoch_t epoch) const;
    void send(lane_env &env, control_msg msg);
    void send_shake(lane_env &env);
    void send_refused(lane_env &env, refusal code, epoch_t epoch, bool of_want);
    bool differs_in_mode(lane_env &env, error_mode theirs, epoch_t epoch, bool of_want);
    bool answer_again(lane_env &env, epoch_t epoch);
    void become_live(lane_env &env);
    void begin_seal(lane_env &env, cause why);
    void give_up_making(lane_env &env, cause why, refusal code);
    void end_shaking(lane_env &env, lane_state to);
    void kill_and_tell(lane_env &env, cause why);
    bool reached_answerer() const;
    void refused_final_or_retry(lane_env &env, const lane_refused_msg &msg);
    void seal_dead_epoch(lane_env &env, epoch_t epoch);
    cause count_error(lane_env &env, cause why);
    void open_record(lane_env &env, epoch_t epoch, const landed_position &landed, cause why,
                     bool own_error);
    void judge(lane_env &env);
    void weigh_peer_seal(lane_env &env, const seal_msg &msg);
    void retry_later(lane_env &env, std::uint32_t ms);
    void arm(lane_env &env, timer_kind kind, time_ns delay);
    void disarm(lane_env &env, timer_kind kind);
    timer_id timer_of(timer_kind kind) const;

    ep_id ep_;
    rail_id rail_;
    lane_state state_ = lane_state::GONE;
    shake_step step_ = shake_step::NONE;
    seal_step seal_ = seal_step::NONE;
    epoch_t epoch_ = 0;
    epoch_t highest_ = 0;
    cause why_ = cause::NONE;
    bool own_error_ = false;
    bool error_recent_ = false; // an own QP error within the hold-off
    bool gate_open_ = false;
    bool back_off_ = false; // RNR_EXC or protection error: rebuild later
    resend shake_;
    resend retry_;
    lane_address address_; // own, while SHAKING
    token tx_;
    std::optional<seal_msg> peer_seal_;
};

} // namespace ufx::ucp::core

#endif
