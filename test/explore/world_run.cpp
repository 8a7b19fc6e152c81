// SPDX-License-Identifier: BSD-3-Clause
// One step of the explored world, and the fair run to the end.
#include "world.h"

#include <algorithm>
#include <string>

namespace ufx::explore {

bool world::try_apply(const event &e)
{
    const std::vector<event> now = enabled();
    if (std::find(now.begin(), now.end(), e) == now.end()) {
        return false;
    }
    apply(e);
    return true;
}

void world::apply(const event &e)
{
    if (is_fault(e.kind) && !settling_) {
        --(e.kind == step::LOSE || e.kind == step::DOUBLE ? messages_left_ : faults_left_);
    }
    run_handlers(e.side);
    switch (e.kind) {
    case step::DELIVER:
    case step::LOSE:
    case step::DOUBLE:
        do_message(e);
        break;
    case step::TIMER:
        do_timer(e);
        break;
    case step::CREATED:
    case step::QUIET:
    case step::ARRIVE:
    case step::POLL:
    case step::ACK:
    case step::NOP:
    case step::RETRY_EXC:
    case step::RESET:
    case step::QP_ERROR:
    case step::RNR_EXC:
    case step::WEDGE:
    case step::BROKEN:
    case step::POST:
        do_lane(e);
        break;
    case step::PEER_DEAD:
    case step::FORGET:
    case step::DISOWN:
    case step::CANCEL:
    case step::DEADLINE:
    case step::CLOSE:
    case step::FLUSH:
    case step::DIE:
        do_user(e);
        break;
    default:
        do_rail(e);
        break;
    }
    run(e.side);
    if (e.kind == step::POLL || e.kind == step::ARRIVE) {
        run_handlers(e.side);
    }
    drop_dead_links();
    check_flush(e.side);
}

// Healthy steps first, then what a dead lane entails, then the timer that is due first.
std::optional<event> world::fair_step() const
{
    std::optional<event> consequence;
    std::optional<event> timer;
    core::time_ns first = UINT64_MAX;
    for (const event &e : enabled()) {
        if (is_fault(e.kind) && e.kind != step::RESUME) {
            continue;
        }
        if (e.kind == step::RETRY_EXC || e.kind == step::RESET) {
            consequence = consequence ? consequence : std::optional(e);
        } else if (e.kind == step::TIMER) {
            const core::time_ns at = armed(e)->second;
            if (at < first) {
                first = at;
                timer = e;
            }
        } else {
            return e;
        }
    }
    return consequence ? consequence : timer;
}

// In a healthy world a drain ends because all on the rail has ended, never by its limit.
void world::check_limit(const event &timer)
{
    const core::rail *rail = sides_[timer.side].peer.find_rail(timer.rail);
    if (timer.a == static_cast<std::uint32_t>(core::timer_kind::ADMIN_LIMIT) && rail != nullptr &&
        rail->state() == core::rail_state::DRAINING && rail->why() == core::cause::ADMIN) {
        fail("rail " + std::to_string(timer.rail) + ": drains until its limit, though it is idle");
    }
}

std::string world::settle()
{
    constexpr unsigned patience = 3000;
    settling_ = true;
    cut_[0][0] = cut_[0][1] = cut_[1][0] = cut_[1][1] = false;
    for (unsigned i = 0; i < patience && broken_.empty(); ++i) {
        if (unfinished().empty()) {
            return "";
        }
        const std::optional<event> next = fair_step();
        if (!next) {
            break;
        }
        if (next->kind == step::TIMER) {
            check_limit(*next);
            now_ = std::max(now_, armed(*next)->second);
        }
        apply(*next);
    }
    return broken_.empty() ? unfinished() : broken_;
}

} // namespace ufx::explore
