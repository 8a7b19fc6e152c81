// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the fragments of a purged lane: final, or frozen for a replay.
#include "ucp/core/ep.h"
#include "ucp/core/mutant.h"

namespace ufx::ucp::core {

// The table of docs/failover.md, "Per operation". AMs are not judged here: the window decides them.
ep::fate ep::fate_of(const purged_op &op, grade g, bool am_behind_covered)
{
    if (op.fragment.kind == op_kind::GET) {
        const bool below = op.verdict == verdict::RESULT_LOST || op.verdict == verdict::LANDED;
        return mutated(mutant::READ_BELOW_TOKEN_OK) && below ? fate::DONE : fate::REPLAY;
    }
    switch (g) {
    case grade::EXACT:
        if (op.verdict == verdict::LANDED) {
            return fate::DONE;
        }
        return op.verdict == verdict::UNKNOWN ? fate::AMBIGUOUS : fate::REPLAY;
    case grade::BLIND:
        // An AM behind it on the same lane and epoch arrived, so this one did: its target may have
        // been told, and a replay could write over what the target does with the memory now.
        if (am_behind_covered && !mutated(mutant::BLIND_REPLAY_AFTER_NOTIFY)) {
            return fate::DONE;
        }
        return op.fragment.polled ? fate::AMBIGUOUS : fate::REPLAY;
    case grade::OPEN:
        break;
    }
    return fate::AMBIGUOUS;
}

void ep::finish(const lane_ref *lane, const fragment &f, ufx_status_t status, cause why,
                bool remote_final, action_list &out)
{
    out.push_back(act::fragment_done{id_, f.kind, f.handle, 0, status, why, remote_final});
    if (f.group == 0) {
        return;
    }
    order_group &g = groups_[f.group - 1].state;
    if (lane != nullptr) {
        g.final_on(lane->rail, lane->epoch, status);
    } else {
        g.final_waiting(status);
    }
    put_ended(f.group, status, why, out);
}

void ep::freeze(const lane_ref &lane, fragment f, action_list &out)
{
    if (life_ != life::ALIVE) {
        finish(&lane, f, end_status_, end_why_, false, out);
        return;
    }
    if (f.replays >= replay_budget_) {
        finish(&lane, f, UFX_ERR_UNREACHABLE, cause::REPLAY_BUDGET, false, out);
        return;
    }
    ++f.replays;
    if (f.group != 0) {
        groups_[f.group - 1].state.frozen(lane.rail, lane.epoch);
    }
    frozen_.push_back(f);
}

void ep::judge(const lane_ref &lane, const seal_msg *seal, std::span<const purged_op> ops,
               action_list &out)
{
    const window nothing;
    const window &arrived = seal != nullptr ? seal->window : nothing;
    const grade unsealed = mutated(mutant::SKIP_SEAL) ? grade::EXACT : grade::OPEN;
    const grade g = seal != nullptr ? seal->landed.grade : unsealed;
    const bool exact = g != grade::OPEN;
    tx_.lane_purged(lane.rail, lane.epoch, arrived, out);

    std::size_t behind = ops.size(); // one past the last AM that arrived
    while (behind > 0) {
        const purged_op &op = ops[behind - 1];
        const bool is_am = op.fragment.kind == op_kind::AM || op.fragment.kind == op_kind::SKIP;
        if (is_am && arrived.covers(op.number)) {
            break;
        }
        --behind;
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const purged_op &op = ops[i];
        if (op.fragment.kind != op_kind::PUT && op.fragment.kind != op_kind::GET) {
            continue;
        }
        if (mutated(mutant::COMPLETE_BEFORE_SEAL) && seal == nullptr) {
            finish(&lane, op.fragment, UFX_ERR_TIMEOUT, cause::NONE, true, out);
            continue;
        }
        if (op.claimed) {
            finish(&lane, op.fragment, op.status, cause::NONE, exact, out);
            continue;
        }
        fragment f = op.fragment;
        switch (fate_of(op, g, i < behind)) {
        case fate::DONE:
            finish(&lane, f, UFX_OK, cause::NONE, true, out);
            break;
        case fate::AMBIGUOUS:
            finish(&lane, f, life_ == life::ALIVE ? UFX_ERR_AMBIGUOUS : end_status_, end_why_,
                   exact, out);
            break;
        case fate::REPLAY:
            f.from += op.verdict == verdict::PARTIAL && g == grade::EXACT ? op.bytes : 0;
            f.from = mutated(mutant::REPLAY_FROM_ZERO) ? 0 : f.from;
            freeze(lane, f, out);
            break;
        }
    }
    out.push_back(act::replay_ready{id_});
}

// Every lane is judged and the ep is dying: nothing that is left can go anywhere.
void ep::abandon(action_list &out)
{
    std::vector<fragment> left;
    left.swap(frozen_);
    for (const fragment &f : left) {
        finish(nullptr, f, end_status_, end_why_, false, out);
    }
    tx_.abandon(end_status_, end_why_, out);
    life_ = life::DEAD;
}

} // namespace ufx::ucp::core
