// SPDX-License-Identifier: BSD-3-Clause
// Handshake of a lane: from GONE to LIVE.
#include "ucp/core/lane.h"

#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::ucp::core {

timer_id lane_slot::timer_of(timer_kind kind) const
{
    return {kind, rail_, ep_, 0};
}

void lane_slot::arm(lane_env &env, timer_kind kind, time_ns delay)
{
    env.out.push_back(act::arm_timer{timer_of(kind), env.now + delay});
}

void lane_slot::disarm(lane_env &env, timer_kind kind)
{
    env.out.push_back(act::disarm_timer{timer_of(kind)});
}

lane_name lane_slot::name(const lane_env &env, epoch_t epoch) const
{
    return {env.own_ep, env.peer_ep, rail_, epoch};
}

void lane_slot::send(lane_env &env, control_msg msg)
{
    env.out.push_back(act::send{std::move(msg), shake_.attempts()});
}

// WANT, REQ or REP, whichever this side is waiting to be answered; resent until it is.
void lane_slot::send_shake(lane_env &env)
{
    switch (step_) {
    case shake_step::WANTING:
        send(env, lane_want_msg{name(env, highest_), env.connection, env.mode});
        break;
    case shake_step::REQ_SENT:
        send(env, lane_req_msg{name(env, epoch_), env.connection, env.mode, address_, tx_});
        break;
    case shake_step::REP_SENT:
        send(env, lane_rep_msg{name(env, epoch_), address_, tx_});
        break;
    default:
        return;
    }
    arm(env, timer_kind::LANE_SHAKE, shake_.next());
}

void lane_slot::send_refused(lane_env &env, refusal code, epoch_t epoch, bool of_want)
{
    send(env, lane_refused_msg{name(env, epoch), code, of_want, highest_, env.damped_ms});
}

// Two eps that were made to each other with different modes fail for that, both, whatever else ends
// one of them meanwhile: the peer is told, and so is the user here.
bool lane_slot::differs_in_mode(lane_env &env, error_mode theirs, epoch_t epoch, bool of_want)
{
    if (is_probe() || theirs == env.mode) {
        return false;
    }
    send_refused(env, refusal::MODE, epoch, of_want);
    env.final_refusal = refusal::MODE;
    return true;
}

// Sends the own SEAL of that epoch again. False: there is none.
bool lane_slot::answer_again(lane_env &env, epoch_t epoch)
{
    return env.book.answer_again(env.own_ep, env.peer_ep, rail_, epoch, env.now, env.out);
}

void lane_slot::start(lane_env &env)
{
    if (!is_free() || step_ == shake_step::WANTING || env.dying || env.barrier != refusal::NONE) {
        return;
    }
    disarm(env, timer_kind::LANE_RETRY);
    shake_.reset();
    if (!env.starter) {
        step_ = shake_step::WANTING;
        send_shake(env);
        return;
    }
    state_ = lane_state::SHAKING;
    step_ = shake_step::CREATING;
    epoch_ = ++highest_;
    why_ = cause::NONE;
    own_error_ = false;
    peer_seal_.reset();
    env.out.push_back(act::create_lane{ref(), true, {}, {}});
}

void lane_slot::timer(lane_env &env, timer_kind kind)
{
    switch (kind) {
    case timer_kind::LANE_SHAKE:
        send_shake(env);
        break;
    case timer_kind::LANE_RETRY:
        start(env);
        break;
    case timer_kind::LANE_ERROR:
        error_recent_ = false;
        break;
    default:
        break;
    }
}

void lane_slot::retry_later(lane_env &env, std::uint32_t ms)
{
    const time_ns wanted = ms != 0 ? ms * ms_ns : env.cfg.holdoff_ns;
    arm(env, timer_kind::LANE_RETRY, std::min(wanted, env.cfg.holdoff_max_ns));
}

// Leaves SHAKING without ever having been LIVE; the uct ep is not needed any more.
void lane_slot::end_shaking(lane_env &env, lane_state to)
{
    env.out.push_back(act::release_lane{ref()});
    disarm(env, timer_kind::LANE_SHAKE);
    state_ = to;
    step_ = shake_step::NONE;
}

void lane_slot::on_want(lane_env &env, const lane_want_msg &msg)
{
    if (!env.starter || differs_in_mode(env, msg.mode, msg.lane.epoch, true)) {
        return;
    }
    if (env.dying || env.barrier != refusal::NONE) {
        send_refused(env, env.dying ? refusal::EP_CLOSING : env.barrier, msg.lane.epoch, true);
        return;
    }
    if (is_probe() && !is_free() && msg.lane.epoch >= epoch_) {
        end_shaking(env, lane_state::GONE); // the peer knew that probe lane and gave it up
    }
    if (is_free()) {
        highest_ = std::max(highest_, msg.lane.epoch);
        start(env);
    } else if (step_ == shake_step::REQ_SENT) {
        send_shake(env);
    }
}

void lane_slot::on_req(lane_env &env, const lane_req_msg &msg)
{
    const epoch_t epoch = msg.lane.epoch;
    if (env.starter) {
        return;
    }
    if (epoch == epoch_ && step_ == shake_step::REP_SENT) {
        send_shake(env);
        return;
    }
    if (epoch == epoch_ && !is_free()) {
        return; // creating, live, or sealing: our own SEAL follows
    }
    if (epoch <= highest_) {
        if (!answer_again(env, epoch)) {
            send_refused(env, refusal::STALE_EPOCH, epoch, false);
        }
        return;
    }
    if (is_probe() && !is_free()) {
        end_shaking(env, lane_state::GONE); // the starter gave that one up
    }
    if (!is_free()) {
        if (mutated(mutant::SKIP_SEAL) && is_live()) {
            begin_seal(env, cause::PEER_SEAL);
        }
        return; // the old lane is not judged here yet: the REQ comes again
    }
    highest_ = epoch; // burned even if it is refused: a late duplicate must not be accepted
    if (differs_in_mode(env, msg.mode, epoch, false)) {
        return;
    }
    if (env.dying || env.barrier != refusal::NONE) {
        send_refused(env, env.dying ? refusal::EP_CLOSING : env.barrier, epoch, false);
        return;
    }
    disarm(env, timer_kind::LANE_SHAKE);
    disarm(env, timer_kind::LANE_RETRY);
    shake_.reset();
    state_ = lane_state::SHAKING;
    step_ = shake_step::CREATING;
    epoch_ = epoch;
    why_ = cause::NONE;
    own_error_ = false;
    peer_seal_.reset();
    env.out.push_back(act::create_lane{ref(), false, msg.address, msg.tx});
}

void lane_slot::on_rep(lane_env &env, const lane_rep_msg &msg)
{
    if (!env.starter) {
        return;
    }
    if (msg.lane.epoch != epoch_ || is_free()) {
        if (!answer_again(env, msg.lane.epoch)) {
            send_refused(env, refusal::STALE_EPOCH, msg.lane.epoch, false);
        }
        return;
    }
    if (step_ == shake_step::REQ_SENT) {
        step_ = shake_step::CONNECTING;
        disarm(env, timer_kind::LANE_SHAKE);
        env.out.push_back(act::connect_lane{ref(), msg.address, msg.tx});
    } else if (is_live() && !mutated(mutant::READY_ONCE)) {
        send(env, lane_ready_msg{name(env, epoch_)});
    } else {
        answer_again(env, epoch_);
    }
}

void lane_slot::on_ready(lane_env &env, const lane_ready_msg &msg)
{
    if (msg.lane.epoch == epoch_ && step_ == shake_step::REP_SENT) {
        disarm(env, timer_kind::LANE_SHAKE);
        become_live(env);
    }
}

void lane_slot::become_live(lane_env &env)
{
    state_ = lane_state::LIVE;
    step_ = shake_step::NONE;
    env.out.push_back(act::lane_live{ref()});
}

void lane_slot::refused_final_or_retry(lane_env &env, const lane_refused_msg &msg)
{
    highest_ = std::max(highest_, msg.highest);
    if (is_final(msg.code)) {
        env.final_refusal = msg.code;
    } else if (msg.code == refusal::STALE_EPOCH) {
        env.rebuild = true;
    } else {
        env.damped_for_ms = msg.code == refusal::DAMPED ? msg.retry_after_ms : 0;
        retry_later(env, env.damped_for_ms);
    }
}

void lane_slot::on_refused(lane_env &env, const lane_refused_msg &msg)
{
    if (msg.of_want) {
        if (step_ == shake_step::WANTING) {
            step_ = shake_step::NONE;
            disarm(env, timer_kind::LANE_SHAKE);
            refused_final_or_retry(env, msg);
        }
        return;
    }
    if (msg.lane.epoch != epoch_) {
        return;
    }
    if (step_ == shake_step::REQ_SENT) {
        end_shaking(env, lane_state::GONE);
        refused_final_or_retry(env, msg);
    } else if (step_ == shake_step::REP_SENT) {
        // The starter gave this lane up before it was LIVE there: nothing was posted on it.
        end_shaking(env, lane_state::GONE);
        env.rebuild = true;
    }
}

void lane_slot::created(lane_env &env, epoch_t epoch, const lane_address &address, const token &tx)
{
    if (epoch != epoch_ || step_ != shake_step::CREATING) {
        return;
    }
    address_ = address;
    tx_ = tx;
    step_ = env.starter ? shake_step::REQ_SENT : shake_step::REP_SENT;
    send_shake(env);
}

void lane_slot::connected(lane_env &env, epoch_t epoch)
{
    if (epoch != epoch_ || step_ != shake_step::CONNECTING) {
        return;
    }
    send(env, lane_ready_msg{name(env, epoch_)});
    become_live(env);
}

void lane_slot::release_probe(lane_env &env)
{
    if (!is_free()) {
        end_shaking(env, lane_state::GONE);
    }
    stop(env, cause::NONE);
}

} // namespace ufx::ucp::core
