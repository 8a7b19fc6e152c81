// SPDX-License-Identifier: BSD-3-Clause
// The sending half of an ep's AM sequence: the ledger of fragments that no window covers yet.
//
// An entry: QUEUED (never posted) -> POSTED (rail, epoch) -> released when covered by the peer's
// window and locally quiet; POSTED -> REPLAY when its lane is purged uncovered or the peer refused
// it. QUEUED or REPLAY entries whose message ended become SKIPs of the same number.
#ifndef UFX_UCP_CORE_AM_TX_H
#define UFX_UCP_CORE_AM_TX_H

#include "ucp/core/action.h"
#include "ucp/core/order_group.h"
#include "ucp/core/ring.h"
#include "ucp/core/window.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace ufx::ucp::core {

class am_tx {
public:
    enum class place : std::uint8_t { QUEUED, POSTED, REPLAY };

    struct entry {
        am_number number = 0;
        am_number first = 0;     // of the message
        std::uint32_t count = 0; // fragments of the message
        std::uint64_t handle = 0;
        place where = place::QUEUED;
        bool covered = false;
        bool local_pending = false; // uct still uses the payload
        bool skip = false;          // goes out as SKIP; the message's owner has been told
        bool ended = false;         // the message is terminal with `status`
        ufx_status_t status = UFX_OK;
        cause why = cause::NONE;
        std::uint8_t replays = 0;
        rail_id rail = 0;
        epoch_t epoch = 0;
        std::uint32_t lane_position = 0; // how many AM fragments went over that lane before it
        group_id group = 0;              // PUTs it is ordered after

        // To be posted.
        bool waits() const { return where != place::POSTED && !covered && !local_pending; }
    };

    explicit am_tx(ep_id ep = 0, std::uint8_t replay_budget = 64)
        : ep_(ep), replay_budget_(replay_budget)
    {
    }

    // Gives numbers to a message of `count` fragments; nothing if the window has no room.
    std::optional<am_number> admit(std::uint64_t handle, std::uint32_t count, group_id group);
    // The entry of a number that is not released yet.
    const entry *find(am_number n) const
    {
        const am_number at = n - front_number(); // wraps for an earlier one
        return at < entries_.size() ? &entries_[static_cast<std::size_t>(at)] : nullptr;
    }

    // All entries that wait to be posted, lowest number first, replays and first posts alike.
    // `may` says whether that entry may go over the lane in question.
    template <class May>
    const entry *next(May may) const
    {
        for (std::size_t i = first_waiting(); i < entries_.size(); ++i) {
            if (entries_[i].waits() && may(entries_[i])) {
                return &entries_[i];
            }
        }
        return nullptr;
    }
    bool any_waits() const { return waiting_from_ != next_ && first_waiting() < entries_.size(); }
    // Room for the next posted(), which then allocates nothing.
    void expect_post()
    {
        if (lanes_.size() == lanes_.capacity()) {
            lanes_.reserve(lanes_.size() + 1);
        }
    }
    // It was posted. `local_pending`: uct will call local_done later (zcopy).
    void posted(am_number n, rail_id rail, epoch_t epoch, bool local_pending);
    void local_done(am_number n, action_list &out);

    // The peer's window covers: from an AM header (next only), a lone ack, WINDOW_ACK, or a SEAL.
    void covered(am_number next, action_list &out);
    void covered(const window &w, action_list &out);
    // A transport whose completion is delivery, on an ep with a single lane.
    void delivered(am_number n, action_list &out);
    // The peer took `count` fragments from that lane: those among them that `w` does not cover were
    // refused and go to REPLAY. Call covered(w) first.
    void taken(rail_id rail, epoch_t epoch, std::uint32_t count, action_list &out);
    // The lane is quiet on both sides and `w` is from the peer's SEAL for it: what `w` does not
    // cover goes to REPLAY.
    void lane_purged(rail_id rail, epoch_t epoch, const window &w, action_list &out);

    // The message is terminal here. What is not posted becomes SKIP; what is posted is left alone.
    void end(std::uint64_t handle, ufx_status_t status, cause why, action_list &out);
    // The ep is dead: every message ends with `status` as soon as it is locally quiet.
    void abandon(ufx_status_t status, cause why, action_list &out);
    // A PUT that these are ordered after failed.
    void group_failed(group_id group, ufx_status_t status, cause why, action_list &out);

    bool any_uncovered() const;
    bool empty() const { return entries_.empty(); }
    am_number next_number() const { return next_; }
    const ring<entry> &entries() const { return entries_; }

    template <class V>
    void fold(V &v) const
    {
        v(next_);
        v(static_cast<std::uint32_t>(entries_.size()));
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const entry &e = entries_[i];
            v(e.handle);
            v(static_cast<std::uint8_t>(e.where));
            v(e.covered);
            v(e.local_pending);
            v(e.skip);
            v(e.ended);
            v(e.rail);
            v(e.epoch);
            v(e.lane_position);
            v(e.group);
        }
        for (const lane_count &l : lanes_) {
            v(l.epoch);
            v(l.posted);
        }
    }

private:
    struct lane_count {
        rail_id rail;
        epoch_t epoch;
        std::uint32_t posted;
    };
    entry *get(am_number n) { return const_cast<entry *>(find(n)); }
    // Numbers are given in order, so all up to next_ are in the ledger, or released.
    am_number front_number() const { return next_ - entries_.size(); }
    std::size_t first_waiting() const
    {
        const am_number front = front_number();
        const am_number at = waiting_from_ - front;
        return at < entries_.size() && entries_[static_cast<std::size_t>(at)].waits()
                   ? static_cast<std::size_t>(at)
                   : find_waiting(front);
    }
    std::size_t find_waiting(am_number front) const;
    void waits_again(const entry &e) { waiting_from_ = std::min(waiting_from_, e.number); }
    void cover(entry &e, action_list &out);
    void release(entry &e, action_list &out);
    void drop_front()
    {
        while (!entries_.empty() && entries_.front().covered && !entries_.front().local_pending) {
            entries_.pop_front();
        }
    }
    void settle(action_list &out);
    void finish(entry &e, ufx_status_t status, cause why, action_list &out);
    void to_replay(entry &e, action_list &out);
    std::uint32_t count_on(rail_id rail, epoch_t epoch);

    ep_id ep_;
    std::uint8_t replay_budget_;
    am_number next_ = 0;
    ring<entry> entries_; // consecutive numbers: entries_[i].number == entries_[0].number + i
    std::vector<lane_count> lanes_;
    mutable am_number waiting_from_ = 0; // no entry before it waits: where to begin to look
};

} // namespace ufx::ucp::core

#endif
