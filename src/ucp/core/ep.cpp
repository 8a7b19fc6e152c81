// SPDX-License-Identifier: BSD-3-Clause
// One ep's sending side: AM numbers, PUT order, frozen list.
#include "ucp/core/ep.h"

#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::ucp::core {

ep::ep(ep_id own, ep_id peer, std::uint64_t connection, error_mode mode, const config &cfg)
    : id_(own), peer_id_(peer), connection_(connection), mode_(mode),
      replay_budget_(cfg.replay_budget), rx_(cfg.hold_bytes), tx_(own, cfg.replay_budget)
{
}

const lane_slot *ep::lane(rail_id rail) const
{
    for (const lane_slot &l : lanes_) {
        if (l.rail() == rail) {
            return &l;
        }
    }
    return nullptr;
}

lane_slot &ep::slot(rail_id rail)
{
    for (lane_slot &l : lanes_) {
        if (l.rail() == rail) {
            return l;
        }
    }
    return lanes_.emplace_back(id_, rail);
}

bool ep::lanes_free() const
{
    return std::all_of(lanes_.begin(), lanes_.end(),
                       [](const lane_slot &l) { return l.is_free(); });
}

std::optional<am_number> ep::admit_am(std::uint64_t handle, std::uint32_t count, group_id group)
{
    return life_ == life::ALIVE ? tx_.admit(handle, count, group) : std::nullopt;
}

const am_tx::entry *ep::next_am(rail_id rail) const
{
    const lane_slot *l = lane(rail);
    if (l == nullptr || !l->is_live()) {
        return nullptr;
    }
    return tx_.next([&](const am_tx::entry &e) {
        return e.skip || e.group == 0 || group(e.group).may_follow(rail, l->epoch());
    });
}

void ep::ask_window(time_ns now, action_list &out)
{
    if (!mutated(mutant::NO_WINDOW_REQ)) {
        window_req_armed_ = true;
        window_req_.reset();
        out.push_back(
            act::arm_timer{{timer_kind::WINDOW_REQ, 0, id_, 0}, now + window_req_.next()});
    }
}

void ep::am_delivered(am_number n, action_list &out)
{
    if (lanes_.size() == 1) {
        tx_.delivered(n, out);
    }
}

group_id ep::open_group()
{
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        if (!groups_[i].used) {
            groups_[i] = {true, {}};
            return static_cast<group_id>(i + 1);
        }
    }
    groups_.push_back({true, {}});
    return static_cast<group_id>(groups_.size());
}

void ep::close_group(group_id id)
{
    groups_[id - 1] = {};
}

void ep::expect_put(group_id id)
{
    if (id != 0) {
        groups_[id - 1].state.expect_post();
    }
}

void ep::expect_am(action_list &out)
{
    tx_.expect_post();
    if (!window_req_armed_ && out.size() + 2 > out.capacity()) {
        out.reserve(2 * out.size() + 16);
    }
}

void ep::put_posted(group_id id, rail_id rail)
{
    const lane_slot *l = lane(rail);
    if (id != 0 && l != nullptr) {
        groups_[id - 1].state.posted(rail, l->epoch());
    }
}

void ep::put_ended(group_id id, ufx_status_t status, cause why, action_list &out)
{
    if (status != UFX_OK) {
        tx_.group_failed(id, status, why, out);
    }
    out.push_back(act::replay_ready{id_}); // what follows may go now
}

void ep::put_final(group_id id, rail_id rail, epoch_t epoch, ufx_status_t status, action_list &out)
{
    if (id == 0) {
        return;
    }
    order_group &g = groups_[id - 1].state;
    if (epoch != 0) {
        g.final_on(rail, epoch, status);
    } else {
        g.final_waiting(status);
    }
    put_ended(id, status, cause::NONE, out);
}

void ep::replay_posted(std::uint64_t handle, rail_id rail)
{
    for (auto f = frozen_.begin(); f != frozen_.end(); ++f) {
        if (f->handle == handle) {
            put_posted(f->group, rail);
            frozen_.erase(f);
            return;
        }
    }
}

void ep::end_op(std::uint64_t op, ufx_status_t status, cause why, action_list &out)
{
    std::vector<fragment> ended;
    std::erase_if(frozen_, [&](const fragment &f) {
        if (f.op == op) {
            ended.push_back(f);
        }
        return f.op == op;
    });
    for (const fragment &f : ended) {
        finish(nullptr, f, status, why, true, out);
    }
    tx_.end(op, status, why, out);
}

} // namespace ufx::ucp::core
