// SPDX-License-Identifier: BSD-3-Clause
// One rail's health.
#include "ucp/core/rail.h"

#include "ucp/core/mutant.h"

#include <algorithm>
#include <cmath>

namespace ufx::ucp::core {

namespace {

constexpr std::uint8_t bit(sign s)
{
    return static_cast<std::uint8_t>(s);
}

timer_id timer_of(timer_kind kind, rail_id id)
{
    return {kind, id, 0, 0};
}

// One DRAINING adds this much; each whole penalty doubles the hold-off once more.
constexpr double drain_penalty = 1.0;

double decayed(double penalty, time_ns since, time_ns now, time_ns half_life)
{
    if (now <= since || half_life == 0) {
        return penalty;
    }
    return penalty * std::exp2(-static_cast<double>(now - since) / static_cast<double>(half_life));
}

} // namespace

void rail::go(const rail_env &env, rail_state to, cause why)
{
    const rail_state from = state_;
    state_ = to;
    why_ = why;
    history_.add({env.now, from, to, why});
    env.out.push_back(act::rail_changed{id_, from, to, why});
    if (from == rail_state::SUSPECT) {
        env.out.push_back(act::disarm_timer{timer_of(timer_kind::RAIL_GRACE, id_)});
    }
    if (to == rail_state::DRAINING) {
        penalty_ = decayed(penalty_, penalty_at_, env.now, env.cfg.penalty_half_life_ns);
        penalty_ += admin_ ? 0 : drain_penalty;
        penalty_at_ = env.now;
        signs_ = port_active_ ? 0 : bit(sign::PORT);
    }
    if (to == rail_state::UP) {
        up_since_ = env.now;
        signs_ = 0;
    }
}

unsigned rail::ramp(time_ns now, const config &cfg) const
{
    if (state_ != rail_state::UP) {
        return 0;
    }
    if (history_.total() == 0 || now >= up_since_ + cfg.ramp_ns) {
        return 256;
    }
    const double part = static_cast<double>(now - up_since_) / static_cast<double>(cfg.ramp_ns);
    return 32 + static_cast<unsigned>(part * 224);
}

unsigned rail::penalty_percent(time_ns now, const config &cfg) const
{
    const double left = decayed(penalty_, penalty_at_, now, cfg.penalty_half_life_ns);
    return static_cast<unsigned>(left * 100);
}

void rail::soft(const rail_env &env, sign which, cause why)
{
    if (!carries_lanes()) {
        return;
    }
    signs_ |= bit(which);
    if (state_ == rail_state::UP) {
        go(env, rail_state::SUSPECT, why);
        env.out.push_back(
            act::arm_timer{timer_of(timer_kind::RAIL_GRACE, id_), env.now + env.cfg.grace_ns});
    }
}

void rail::clear(const rail_env &env, sign which, cause why)
{
    signs_ &= static_cast<std::uint8_t>(~bit(which));
    if (state_ == rail_state::SUSPECT && signs_ == 0 && port_active_) {
        go(env, rail_state::UP, why);
    }
}

void rail::progress(const rail_env &env)
{
    signs_ &= static_cast<std::uint8_t>(~bit(sign::STALL));
    clear(env, sign::HINT, cause::PROGRESS);
}

void rail::port(const rail_env &env, bool active)
{
    if (active == port_active_) {
        return;
    }
    port_active_ = active;
    if (!active) {
        soft(env, sign::PORT, cause::PORT_DOWN);
        return;
    }
    clear(env, sign::PORT, cause::PORT_UP);
    if (state_ == rail_state::DOWN && !env.other_up) {
        holdoff_passed_ = true;
    }
    try_probe(env, cause::PORT_UP);
}

void rail::grace_over(const rail_env &env)
{
    if (state_ != rail_state::SUSPECT) {
        return;
    }
    // RETRY_EXC alone condemns nothing: the peer's SEAL decides, however long it takes.
    if (env.other_up && (signs_ != bit(sign::RETRY) || mutated(mutant::RETRY_CONDEMNS_RAIL))) {
        go(env, rail_state::DRAINING, cause::GRACE_OVER);
        return;
    }
    env.out.push_back(
        act::arm_timer{timer_of(timer_kind::RAIL_GRACE, id_), env.now + env.cfg.grace_ns});
}

void rail::hard(const rail_env &env, cause why)
{
    if (carries_lanes()) {
        go(env, rail_state::DRAINING, why);
    } else if (state_ == rail_state::PROBING) {
        probe_failed(env, why);
    } else if (state_ == rail_state::DRAINING && why_ == cause::ADMIN) {
        go(env, rail_state::DRAINING, why);
    }
}

void rail::admin_drain(const rail_env &env)
{
    admin_ = true;
    switch (state_) {
    case rail_state::UP:
    case rail_state::SUSPECT:
        go(env, rail_state::DRAINING, cause::ADMIN);
        break;
    case rail_state::PROBING:
        enter_down(env, cause::ADMIN);
        break;
    case rail_state::DRAINING:
    case rail_state::DOWN:
        break;
    }
}

void rail::resume(const rail_env &env)
{
    if (!admin_) {
        return;
    }
    admin_ = false;
    if (state_ == rail_state::DOWN) {
        holdoff_passed_ = true;
        try_probe(env, cause::RESUME);
    }
}

void rail::drained(const rail_env &env)
{
    if (state_ != rail_state::DRAINING) {
        return;
    }
    const bool resumed = why_ == cause::ADMIN && !admin_;
    enter_down(env, cause::DRAINED);
    if (resumed) { // nothing was wrong with it
        holdoff_until_ = env.now;
        env.out.push_back(act::arm_timer{timer_of(timer_kind::RAIL_HOLDOFF, id_), env.now});
    }
}

// Hold-off: doubled by each failed probe and by what is left of the penalty, with up to 25 %
// jitter.
time_ns rail::next_holdoff(const rail_env &env)
{
    const double penalty = decayed(penalty_, penalty_at_, env.now, env.cfg.penalty_half_life_ns);
    const auto extra = static_cast<unsigned>(std::max(penalty - drain_penalty, 0.0));
    const unsigned doublings = std::min(failed_probes_ + extra, 16U);
    time_ns hold = std::min(env.cfg.holdoff_ns << doublings, env.cfg.holdoff_max_ns);
    jitter_ ^= jitter_ << 13;
    jitter_ ^= jitter_ >> 7;
    jitter_ ^= jitter_ << 17;
    hold += static_cast<time_ns>(static_cast<double>(hold) * static_cast<double>(jitter_ % 256) /
                                 1024.0);
    return env.other_up ? std::min(hold, env.cfg.holdoff_max_ns)
                        : std::min(hold, env.cfg.holdoff_alone_ns);
}

void rail::enter_down(const rail_env &env, cause why)
{
    go(env, rail_state::DOWN, why);
    holdoff_passed_ = false;
    holdoff_until_ = env.now + next_holdoff(env);
    env.out.push_back(act::arm_timer{timer_of(timer_kind::RAIL_HOLDOFF, id_), holdoff_until_});
}

void rail::shorten_holdoff(const rail_env &env)
{
    const time_ns limit = env.now + env.cfg.holdoff_alone_ns;
    if (state_ == rail_state::DOWN && !holdoff_passed_ && holdoff_until_ > limit) {
        holdoff_until_ = limit;
        env.out.push_back(act::arm_timer{timer_of(timer_kind::RAIL_HOLDOFF, id_), limit});
    }
}

std::uint32_t rail::holdoff_left_ms(time_ns now) const
{
    return holdoff_until_ > now ? static_cast<std::uint32_t>((holdoff_until_ - now) / ms_ns) + 1
                                : 1;
}

void rail::holdoff_over(const rail_env &env)
{
    if (state_ == rail_state::DOWN) {
        holdoff_passed_ = true;
        try_probe(env, cause::HOLDOFF_OVER);
    }
}

void rail::try_probe(const rail_env &env, cause why)
{
    if (state_ == rail_state::DOWN && holdoff_passed_ && port_active_ && !admin_ &&
        !env.seal_open) {
        enter_probing(env, why);
    }
}

void rail::join_probe(const rail_env &env)
{
    const bool just_failed = failed_probes_ != 0 && env.now < failed_at_ + join_pause_ns;
    if (state_ == rail_state::DOWN && !damped(env.now, env.cfg) && !just_failed) {
        holdoff_passed_ = true;
        try_probe(env, cause::HOLDOFF_OVER);
    }
}

bool rail::damped(time_ns now, const config &cfg) const
{
    return state_ == rail_state::DOWN && holdoff_until_ > now + cfg.holdoff_alone_ns;
}

void rail::peer_damped(const rail_env &env, std::uint32_t ms)
{
    if (state_ != rail_state::PROBING) {
        return;
    }
    env.out.push_back(act::disarm_timer{timer_of(timer_kind::RAIL_PROBE, id_)});
    go(env, rail_state::DOWN, cause::PROBE_FAILED);
    holdoff_passed_ = false;
    holdoff_until_ = env.now + std::min(ms * ms_ns, env.cfg.holdoff_max_ns);
    env.out.push_back(act::arm_timer{timer_of(timer_kind::RAIL_HOLDOFF, id_), holdoff_until_});
}

void rail::enter_probing(const rail_env &env, cause why)
{
    go(env, rail_state::PROBING, why);
    probe_started();
    env.out.push_back(act::disarm_timer{timer_of(timer_kind::RAIL_HOLDOFF, id_)});
    env.out.push_back(act::refresh_address{id_});
    env.out.push_back(
        act::arm_timer{timer_of(timer_kind::RAIL_PROBE, id_), env.now + env.cfg.probe_limit_ns});
}

void rail::probe_started()
{
    own_ok_ = false;
    peer_ok_ = false;
}

void rail::probe_own_done(const rail_env &env)
{
    if (state_ == rail_state::PROBING) {
        own_ok_ = true;
        try_up(env);
    }
}

void rail::probe_peer_done(const rail_env &env)
{
    if (state_ == rail_state::PROBING) {
        peer_ok_ = true;
        try_up(env);
    }
}

void rail::try_up(const rail_env &env)
{
    if (own_ok_ && peer_ok_) {
        failed_probes_ = 0;
        env.out.push_back(act::disarm_timer{timer_of(timer_kind::RAIL_PROBE, id_)});
        go(env, rail_state::UP, cause::PROBE_OK);
    }
}

void rail::probe_failed(const rail_env &env, cause why)
{
    if (state_ != rail_state::PROBING) {
        return;
    }
    failed_at_ = env.now;
    if (failed_probes_ < 16) {
        ++failed_probes_;
    }
    env.out.push_back(act::disarm_timer{timer_of(timer_kind::RAIL_PROBE, id_)});
    enter_down(env, why);
}

} // namespace ufx::ucp::core
