// SPDX-License-Identifier: BSD-3-Clause
// Seal records of one peer.
#include "ucp/core/seal_book.h"

#include "ucp/core/mutant.h"

#include <algorithm>
#include <utility>

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
    record &made = records_[seal.seal_id];
    made = {seal, {}, now, awaits_peer, false};
    of_ep_.emplace(seal.lane.src_ep, seal.seal_id);
    if (seal.scope == scope::RAIL) {
        ++unacked_of_rail_[seal.lane.rail];
    }
    out.push_back(act::arm_timer{timer_of(seal), now + made.schedule.next()});
}

seal_book::record *seal_book::find(ep_id own_ep, ep_id peer_ep, rail_id rail, epoch_t epoch)
{
    if (own_ep != 0) {
        return find_own(own_ep, rail, epoch);
    }
    const auto found = std::find_if(records_.begin(), records_.end(), [&](const auto &r) {
        const lane_name &lane = r.second.seal.lane;
        return lane.dst_ep == peer_ep && lane.rail == rail && lane.epoch == epoch;
    });
    return found != records_.end() ? &found->second : nullptr;
}

seal_book::record *seal_book::find_own(ep_id own_ep, rail_id rail, epoch_t epoch)
{
    for (auto id = of_ep_.lower_bound({own_ep, 0}); id != of_ep_.end() && id->first == own_ep;
         ++id) {
        record &r = records_.at(id->second);
        if (r.seal.lane.rail == rail && r.seal.lane.epoch == epoch) {
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
    const auto is_answer = [](const auto &r) {
        return !r.second.awaits_peer && r.second.seal.why == cause::PEER_SEAL;
    };
    return records_.size() < max_answers ||
           static_cast<std::size_t>(std::count_if(records_.begin(), records_.end(), is_answer)) <
               max_answers;
}

bool seal_book::holds_any_of(ep_id own_ep) const
{
    const auto first = of_ep_.lower_bound({own_ep, 0});
    return first != of_ep_.end() && first->first == own_ep;
}

bool seal_book::holds_rail(rail_id rail) const
{
    const auto count = unacked_of_rail_.find(rail);
    return count != unacked_of_rail_.end() && count->second > 0;
}

void seal_book::timer(std::uint64_t seal_id, time_ns now, action_list &out)
{
    const auto found = records_.find(seal_id);
    if (found != records_.end()) {
        record &r = found->second;
        r.sent_at = now;
        out.push_back(act::send{r.seal, r.schedule.attempts()});
        out.push_back(act::arm_timer{timer_of(r.seal), now + r.schedule.next()});
    }
}

ep_id seal_book::ack(std::uint64_t seal_id, action_list &out)
{
    const auto found = records_.find(seal_id);
    if (found == records_.end()) {
        return 0;
    }
    const seal_msg &seal = found->second.seal;
    const ep_id own = seal.lane.src_ep;
    if (!std::exchange(found->second.acked, true) && seal.scope == scope::RAIL) {
        --unacked_of_rail_[seal.lane.rail];
    }
    release_if_settled(found, out);
    return own;
}

void seal_book::peer_sealed(ep_id own_ep, rail_id rail, epoch_t epoch, action_list &out)
{
    if (record *r = find_own(own_ep, rail, epoch)) {
        r->awaits_peer = false;
        release_if_settled(records_.find(r->seal.seal_id), out);
    }
}

void seal_book::release_if_settled(place at, action_list &out)
{
    const record &r = at->second;
    if (!r.acked || r.awaits_peer) {
        return;
    }
    out.push_back(act::disarm_timer{timer_of(r.seal)});
    of_ep_.erase({r.seal.lane.src_ep, at->first});
    records_.erase(at);
}

void seal_book::forget_all(action_list &out)
{
    for (const auto &[id, r] : records_) {
        out.push_back(act::disarm_timer{timer_of(r.seal)});
    }
    records_.clear();
    of_ep_.clear();
    unacked_of_rail_.clear();
}

} // namespace ufx::ucp::core
