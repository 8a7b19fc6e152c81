// SPDX-License-Identifier: BSD-3-Clause
// The end of a lane: failure, seal exchange, PURGED.
#include "ucp/core/lane.h"
#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::ucp::core {

namespace {

// Did the peer's lane die for a reason of its own? Then a RETRY_EXC seen here is no fault of the
// rail.
bool explains_retry(const seal_msg &seal)
{
    if (seal.own_error || seal.ep_gone) {
        return true;
    }
    return seal.scope == scope::LANE && seal.why != cause::PEER_SEAL &&
           seal.why != cause::RETRY_EXC && seal.why != cause::NONE;
}

} // namespace

// This side has sent REP: it receives, and it seals with its true token.
bool lane_slot::reached_answerer() const
{
    return step_ == shake_step::REP_SENT && !mutated(mutant::ANSWERER_SAYS_NOTHING);
}

void lane_slot::open_record(lane_env &env, epoch_t epoch, const landed_position &landed, cause why,
                            bool own_error)
{
    if (env.peer_dead) {
        return;
    }
    seal_msg seal;
    seal.lane = name(env, epoch);
    seal.scope = scope_of(why);
    seal.why = why;
    seal.own_error = own_error;
    seal.landed = landed;
    if (env.rx_window != nullptr) {
        seal.window = *env.rx_window;
    }
    const bool awaits_peer = state_ == lane_state::SEAL_SENT && epoch == epoch_;
    env.book.open(seal, awaits_peer && !peer_seal_, env.now, env.out);
}

// A second own QP error within the hold-off condemns the rail. Protection errors and RNR_EXC are
// never counted: the user's bug, the receiver's slowness.
cause lane_slot::count_error(lane_env &env, cause why)
{
    if (why == cause::PROTECTION || why == cause::RNR_EXC) {
        back_off_ = true;
        return mutated(mutant::RNR_PENALTY) && why == cause::RNR_EXC ? cause::SECOND_QP_ERROR : why;
    }
    if (why != cause::OWN_QP_ERROR) {
        return why;
    }
    if (error_recent_) {
        return cause::SECOND_QP_ERROR;
    }
    error_recent_ = true;
    arm(env, timer_kind::LANE_ERROR, env.cfg.holdoff_ns);
    return why;
}

void lane_slot::failed(lane_env &env, epoch_t epoch, cause why)
{
    if (epoch != epoch_ || (state_ != lane_state::SHAKING && state_ != lane_state::LIVE)) {
        return;
    }
    if (is_probe()) {
        end_shaking(env, lane_state::GONE);
        env.hard_sign = why;
        return;
    }
    own_error_ = why == cause::OWN_QP_ERROR || why == cause::PROTECTION || why == cause::RNR_EXC;
    why = count_error(env, why);
    if (scope_of(why) == scope::RAIL) {
        env.hard_sign = why;
    } else if (why == cause::RETRY_EXC) {
        env.soft_sign = why;
    }
    if (is_live() || reached_answerer()) {
        begin_seal(env, why);
    } else {
        give_up_making(env, why, refusal::DEVICE_DOWN);
    }
}

void lane_slot::not_made(lane_env &env, epoch_t epoch, refusal code)
{
    if (epoch != epoch_ || (step_ != shake_step::CREATING && step_ != shake_step::CONNECTING)) {
        return;
    }
    if (is_probe()) {
        end_shaking(env, lane_state::GONE);
        env.hard_sign = cause::PROBE_FAILED;
        return;
    }
    give_up_making(env, cause::REFUSED, code);
}

// Nothing was posted on it, nothing received.
void lane_slot::give_up_making(lane_env &env, cause why, refusal code)
{
    if (step_ != shake_step::CREATING) {
        kill_and_tell(env, why);
    } else {
        if (!env.starter) {
            send_refused(env, code, epoch_, false);
        }
        end_shaking(env, lane_state::GONE);
    }
    retry_later(env, 0);
}

void lane_slot::begin_seal(lane_env &env, cause why)
{
    why_ = why;
    state_ = lane_state::SEALING;
    step_ = shake_step::NONE;
    seal_ = seal_step::QUIESCING;
    disarm(env, timer_kind::LANE_SHAKE);
    if (mutated(mutant::COMPLETE_BEFORE_SEAL)) {
        env.out.push_back(act::purge_lane{ref(), {}});
    }
    if (mutated(mutant::SKIP_SEAL)) {
        judge(env);
    } else if (mutated(mutant::TOKEN_BEFORE_QUIET)) {
        seal_ = seal_step::READING_TOKEN;
        env.out.push_back(act::read_token{ref()});
        env.out.push_back(act::quiesce_lane{ref()});
    } else {
        env.out.push_back(act::quiesce_lane{ref()});
    }
}

void lane_slot::quiet(lane_env &env, epoch_t epoch, bool own_error)
{
    if (epoch != epoch_ || seal_ != seal_step::QUIESCING) {
        return;
    }
    own_error_ = own_error_ || (own_error && why_ != cause::RETRY_EXC);
    seal_ = seal_step::DRAINING_RX;
    if (mutated(mutant::DESTROY_BEFORE_RECEIVES)) {
        receives_drained(env, epoch);
        return;
    }
    env.out.push_back(act::drain_receives{ref()});
}

void lane_slot::receives_drained(lane_env &env, epoch_t epoch)
{
    if (epoch != epoch_ || seal_ != seal_step::DRAINING_RX) {
        return;
    }
    seal_ = seal_step::READING_TOKEN;
    env.out.push_back(act::read_token{ref()});
}

void lane_slot::token_read(lane_env &env, epoch_t epoch, const landed_position &landed)
{
    if (epoch != epoch_ || seal_ != seal_step::READING_TOKEN) {
        return;
    }
    seal_ = seal_step::NONE;
    if (env.peer_dead) {
        judge(env);
        return;
    }
    state_ = lane_state::SEAL_SENT;
    open_record(env, epoch_, landed, why_, own_error_);
    if (peer_seal_) {
        judge(env);
    }
}

void lane_slot::judge(lane_env &env)
{
    state_ = lane_state::JUDGING;
    seal_ = seal_step::NONE;
    landed_position landed;
    if (peer_seal_) {
        env.book.peer_sealed(env.own_ep, rail_, epoch_, env.out);
        landed = peer_seal_->landed;
    } else if (env.peer_dead) {
        landed.grade = grade::OPEN;
        landed.nothing = false;
    }
    env.out.push_back(act::purge_lane{ref(), landed});
}

void lane_slot::purged(lane_env &env, epoch_t epoch)
{
    if (epoch != epoch_ || state_ != lane_state::JUDGING) {
        return;
    }
    state_ = lane_state::PURGED;
    env.out.push_back(act::release_lane{ref()});
    if (peer_seal_) {
        back_off_ =
            back_off_ || peer_seal_->why == cause::PROTECTION || peer_seal_->why == cause::RNR_EXC;
    }
    if (back_off_) {
        arm(env, timer_kind::LANE_RETRY, retry_.next());
        back_off_ = false;
    } else {
        retry_.reset();
        env.rebuild = true;
    }
}

// Nothing was received and nothing was posted here: PURGED at once, the peer is told so.
void lane_slot::kill_and_tell(lane_env &env, cause why)
{
    end_shaking(env, lane_state::PURGED);
    open_record(env, epoch_, {}, why, own_error_);
}

void lane_slot::stop(lane_env &env, cause why)
{
    disarm(env, timer_kind::LANE_RETRY);
    if (step_ == shake_step::WANTING) {
        step_ = shake_step::NONE;
        disarm(env, timer_kind::LANE_SHAKE);
    }
    if (is_probe()) {
        if (!is_free()) {
            end_shaking(env, lane_state::GONE);
        }
        return;
    }
    if (is_live() || reached_answerer()) {
        begin_seal(env, why);
    } else if (state_ == lane_state::SHAKING) {
        kill_and_tell(env, why);
    } else if (env.peer_dead && state_ == lane_state::SEAL_SENT &&
               !mutated(mutant::DEAD_PEER_AWAITED)) {
        judge(env); // the peer's SEAL will never come
    }
}

// What a first SEAL for a lane says about the rail.
void lane_slot::weigh_peer_seal(lane_env &env, const seal_msg &msg)
{
    if (msg.scope == scope::RAIL || mutated(mutant::LANE_SEAL_DRAINS_RAIL)) {
        env.hard_sign = cause::PEER_RAIL;
    } else if (why_ == cause::RETRY_EXC && msg.lane.epoch == epoch_) {
        if (explains_retry(msg)) {
            env.retry_explained = true;
        } else {
            env.hard_sign = cause::UNEXPLAINED_RETRY;
        }
    }
}

// A lane that was never built here: burn its epoch and say that nothing landed.
void lane_slot::seal_dead_epoch(lane_env &env, epoch_t epoch)
{
    if (mutated(mutant::UNKNOWN_EPOCH_IGNORED)) {
        return;
    }
    highest_ = epoch;
    open_record(env, epoch, {}, cause::PEER_SEAL, false);
}

void lane_slot::on_seal(lane_env &env, const seal_msg &msg)
{
    const epoch_t epoch = msg.lane.epoch;
    if (epoch > highest_) {
        weigh_peer_seal(env, msg);
        seal_dead_epoch(env, epoch);
        return;
    }
    if (epoch != epoch_ || is_free() || peer_seal_) {
        if (mutated(mutant::STALE_SEAL_DRAINS)) {
            weigh_peer_seal(env, msg);
        }
        answer_again(env, epoch);
        return;
    }
    peer_seal_ = msg;
    weigh_peer_seal(env, msg);
    switch (state_) {
    case lane_state::LIVE:
        begin_seal(env, env.hard_sign == cause::PEER_RAIL ? cause::PEER_RAIL : cause::PEER_SEAL);
        break;
    case lane_state::SHAKING:
        if (reached_answerer()) {
            begin_seal(env, cause::PEER_SEAL);
        } else {
            kill_and_tell(env, cause::PEER_SEAL);
            env.rebuild = true;
        }
        break;
    case lane_state::SEAL_SENT:
        judge(env);
        break;
    default:
        break; // SEALING: judged when the own SEAL is sent
    }
}

} // namespace ufx::ucp::core
