// SPDX-License-Identifier: BSD-3-Clause
// The sending half of an ep's AM sequence.
#include "ucp/core/am_tx.h"

#include "ucp/core/mutant.h"

namespace ufx::ucp::core {

std::optional<am_number> am_tx::admit(std::uint64_t handle, std::uint32_t count, group_id group)
{
    if (count == 0 || entries_.size() + count > window::bits) {
        return std::nullopt;
    }
    const am_number first = next_;
    for (std::uint32_t i = 0; i < count; ++i) {
        entry &e = entries_.add();
        e.number = next_++;
        e.first = first;
        e.count = count;
        e.handle = handle;
        e.group = group;
    }
    return first;
}

inline std::uint32_t am_tx::count_on(rail_id rail, epoch_t epoch)
{
    for (lane_count &l : lanes_) {
        if (l.rail == rail) {
            if (l.epoch != epoch) {
                l = {rail, epoch, 0};
            }
            return l.posted++;
        }
    }
    lanes_.push_back({rail, epoch, 1});
    return 0;
}

void am_tx::posted(am_number n, rail_id rail, epoch_t epoch, bool local_pending)
{
    entry *e = get(n);
    if (e == nullptr || e->where == place::POSTED) {
        return;
    }
    e->where = place::POSTED;
    e->rail = rail;
    e->epoch = epoch;
    e->local_pending = local_pending;
    e->lane_position = count_on(rail, epoch);
    waiting_from_ += n == waiting_from_ ? 1 : 0;
}

void am_tx::finish(entry &e, ufx_status_t status, cause why, action_list &out)
{
    if (e.skip) {
        return;
    }
    e.skip = true;
    if (mutated(mutant::NO_SKIP)) {
        e.covered = true;
    }
    out.emplace_back(
        act::fragment_done{ep_, op_kind::AM, e.handle, e.number - e.first, status, why});
}

std::size_t am_tx::find_waiting(am_number front) const
{
    waiting_from_ = std::max(waiting_from_, front);
    while (waiting_from_ < next_ &&
           !entries_[static_cast<std::size_t>(waiting_from_ - front)].waits()) {
        ++waiting_from_;
    }
    return static_cast<std::size_t>(waiting_from_ - front);
}

// Gives back what is covered and locally quiet.
void am_tx::release(entry &e, action_list &out)
{
    if (e.covered && !e.local_pending && !e.skip) {
        finish(e, UFX_OK, cause::NONE, out);
    }
}

void am_tx::cover(entry &e, action_list &out)
{
    e.covered = true;
    release(e, out);
}

// release() for all, wherever they are.
void am_tx::settle(action_list &out)
{
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        release(entries_[i], out);
    }
    drop_front();
}

void am_tx::to_replay(entry &e, action_list &out)
{
    e.where = place::REPLAY;
    waits_again(e);
    if (e.ended && !e.local_pending) {
        finish(e, e.status, e.why, out);
    }
}

void am_tx::local_done(am_number n, action_list &out)
{
    entry *e = get(n);
    if (e == nullptr || !e->local_pending) {
        return;
    }
    e->local_pending = false;
    if (mutated(mutant::AM_DONE_AT_COMPLETION)) {
        e->covered = true;
    }
    waits_again(*e);
    if (e->where != place::POSTED && e->ended) {
        finish(*e, e->status, e->why, out);
    }
    release(*e, out);
    drop_front();
}

void am_tx::covered(am_number next, action_list &out)
{
    for (std::size_t i = 0; i < entries_.size() && entries_[i].number < next; ++i) {
        cover(entries_[i], out);
    }
    drop_front();
}

void am_tx::covered(const window &w, action_list &out)
{
    const am_number end = w.end();
    for (std::size_t i = 0; i < entries_.size() && entries_[i].number < end; ++i) {
        if (w.covers(entries_[i].number)) {
            cover(entries_[i], out);
        }
    }
    drop_front();
}

void am_tx::delivered(am_number n, action_list &out)
{
    entry *e = get(n);
    if (e != nullptr) {
        e->local_pending = false;
        cover(*e, out);
        drop_front();
    }
}

void am_tx::taken(rail_id rail, epoch_t epoch, std::uint32_t count, action_list &out)
{
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entry &e = entries_[i];
        if (e.where == place::POSTED && !e.covered && e.rail == rail && e.epoch == epoch &&
            e.lane_position < count) {
            to_replay(e, out);
        }
    }
}

void am_tx::lane_purged(rail_id rail, epoch_t epoch, const window &w, action_list &out)
{
    covered(w, out);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entry &e = entries_[i];
        const bool here = e.rail == rail && e.epoch == epoch;
        if (e.where != place::POSTED && !(here && e.local_pending)) {
            continue;
        }
        if (!here && !mutated(mutant::OTHER_LANES_WINDOW)) {
            continue;
        }
        e.local_pending = false;
        waits_again(e);
        if (!e.covered) {
            to_replay(e, out);
            if (++e.replays > replay_budget_) {
                end(e.handle, UFX_ERR_UNREACHABLE, cause::REPLAY_BUDGET, out);
            }
        }
    }
    settle(out);
}

void am_tx::end(std::uint64_t handle, ufx_status_t status, cause why, action_list &out)
{
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entry &e = entries_[i];
        if (e.handle != handle || e.ended || e.skip) {
            continue;
        }
        e.ended = true;
        e.status = status;
        e.why = why;
        if (e.where != place::POSTED && !e.local_pending) {
            to_replay(e, out);
        }
    }
}

void am_tx::abandon(ufx_status_t status, cause why, action_list &out)
{
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entry &e = entries_[i];
        if (!e.covered) {
            finish(e, e.ended ? e.status : status, e.ended ? e.why : why, out);
        }
        e.covered = true;
        e.local_pending = false;
    }
    settle(out);
}

void am_tx::group_failed(group_id group, ufx_status_t status, cause why, action_list &out)
{
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entry &e = entries_[i];
        if (e.group == group && !e.ended && !e.skip) {
            end(e.handle, status, why, out);
        }
    }
}

bool am_tx::any_uncovered() const
{
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (!entries_[i].covered && entries_[i].where == place::POSTED) {
            return true;
        }
    }
    return false;
}

} // namespace ufx::ucp::core
