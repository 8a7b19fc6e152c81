// SPDX-License-Identifier: BSD-3-Clause
// Seal records of one peer.
#include "ucp/core/seal_book.h"

#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::ucp::core {

namespace {

timer_id timer_of(const seal_msg &seal)
{
    return {timer_kind::SEAL, 0, 0, seal.seal_id};
}

} // namespace

void seal_book::open(seal_msg seal, bool awaits_peer, time_ns now, action_list &out)
{
    seal.seal_id = ++last_id_;
    out.push_back(act::send{seal, 0});
    if (mutated(mutant::NO_SEAL_ACK)) {
        return;
    }
    records_.push_back({seal, {}, now, awaits_peer, false});
    out.push_back(act::arm_timer{timer_of(seal), now + records_.back().schedule.next()});
}

seal_book::record *seal_book::find(ep_id own_ep, ep_id peer_ep, rail_id rail, epoch_t epoch)
{
    for (record &r : records_) {
        const lane_name &lane = r.seal.lane;
        const bool same_ep = own_ep != 0 ? lane.src_ep == own_ep : lane.dst_ep == peer_ep;
        if (same_ep && lane.rail == rail && lane.epoch == epoch) {
            return &r;
        }
    }
    return nullptr;
}

bool seal_book::answer_again(ep_id own_ep, ep_id peer_ep, rail_id rail, epoch_t epoch, time_ns now,
                             action_list &out)
{
    record *r = find(own_ep, peer_ep, rail, epoch);
    if (r != nullptr && now - r->sent_at >= echo_gap_ns) {
        r->sent_at = now;
        out.push_back(act::send{r->seal, r->schedule.attempts()});
    }
    return r != nullptr;
}

bool seal_book::has_room() const
{
    const auto is_answer = [](const record &r) {
        return !r.awaits_peer && r.seal.why == cause::PEER_SEAL;
    };
    return records_.size() < max_answers ||
           static_cast<std::size_t>(std::count_if(records_.begin(), records_.end(), is_answer)) <
               max_answers;
}

bool seal_book::holds_any_of(ep_id own_ep) const
{
    return std::any_of(records_.begin(), records_.end(),
                       [&](const record &r) { return r.seal.lane.src_ep == own_ep; });
}

bool seal_book::holds_rail(rail_id rail) const
{
    return std::any_of(records_.begin(), records_.end(), [&](const record &r) {
        return r.seal.lane.rail == rail && r.seal.scope == scope::RAIL && !r.acked;
    });
}

void seal_book::timer(std::uint64_t seal_id, time_ns now, action_list &out)
{
    for (record &r : records_) {
        if (r.seal.seal_id == seal_id) {
            r.sent_at = now;
            out.push_back(act::send{r.seal, r.schedule.attempts()});
            out.push_back(act::arm_timer{timer_of(r.seal), now + r.schedule.next()});
        }
    }
}

ep_id seal_book::ack(std::uint64_t seal_id, action_list &out)
{
    for (record &r : records_) {
        if (r.seal.seal_id == seal_id) {
            const ep_id own = r.seal.lane.src_ep;
            r.acked = true;
            release_settled(out);
            return own;
        }
    }
    return 0;
}

void seal_book::peer_sealed(ep_id own_ep, rail_id rail, epoch_t epoch, action_list &out)
{
    for (record &r : records_) {
        const lane_name &lane = r.seal.lane;
        if (lane.src_ep == own_ep && lane.rail == rail && lane.epoch == epoch) {
            r.awaits_peer = false;
        }
    }
    release_settled(out);
}

void seal_book::release_settled(action_list &out)
{
    std::erase_if(records_, [&](const record &r) {
        const bool settled = r.acked && !r.awaits_peer;
        if (settled) {
            out.push_back(act::disarm_timer{timer_of(r.seal)});
        }
        return settled;
    });
}

void seal_book::forget_all(action_list &out)
{
    for (const record &r : records_) {
        out.push_back(act::disarm_timer{timer_of(r.seal)});
    }
    records_.clear();
}

} // namespace ufx::ucp::core
