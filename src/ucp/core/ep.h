// SPDX-License-Identifier: BSD-3-Clause
// One ep's failover state: its lanes, both halves of its AM sequence, its frozen list, its order.
//
// ALIVE -> DYING (status, cause: no new lane, every lane is being sealed) -> DEAD (every lane is
// judged, every fragment is final, ep_error delivered). A close is a DYING with EP_CLOSE messages;
// it ends in ep_closed.
#ifndef UFX_UCP_CORE_EP_H
#define UFX_UCP_CORE_EP_H

#include "ucp/core/am_rx.h"
#include "ucp/core/am_tx.h"
#include "ucp/core/lane.h"
#include "ucp/core/order_group.h"

#include <span>
#include <vector>

namespace ufx::ucp::core {

// A PUT, GET, or other fragment that has no number: uct's record is its journal.
struct fragment {
    op_kind kind = op_kind::PUT;
    std::uint64_t handle = 0; // the executor's, names the fragment
    std::uint64_t op = 0;     // the executor's, names the op
    std::uint64_t from = 0;   // first byte still to be moved
    group_id group = 0;       // PUT: member of that group
    std::uint8_t replays = 0;
    bool polled = false; // TARGET_POLLS_MEMORY
    bool operator==(const fragment &) const = default;
};

// One outstanding op of a purged uct ep, in posting order.
struct purged_op {
    core::fragment fragment; // kind AM and SKIP too; NOP for what has no owner
    am_number number = 0;    // AM, SKIP
    core::verdict verdict = verdict::UNKNOWN;
    std::uint64_t bytes = 0; // PARTIAL: landed bytes of this posting
    bool claimed = false;    // its op is already terminal with `status`: no replay
    ufx_status_t status =
        UFX_OK; // see claimed; PROTECTION: the guilty op is claimed with its error
};

class ep {
public:
    enum class life : std::uint8_t { ALIVE, DYING, DEAD };

    ep(ep_id own, ep_id peer, std::uint64_t connection, error_mode mode, const config &cfg);

    ep_id id() const { return id_; }
    ep_id peer_id() const { return peer_id_; }
    life state() const { return life_; }

    // Lanes.
    const std::vector<lane_slot> &lanes() const { return lanes_; }
    const lane_slot *lane(rail_id rail) const;

    // AM, receiving. Also for fragments that drain_receives finds.
    am_rx &rx() { return rx_; }
    const am_rx &rx() const { return rx_; }

    // AM, sending: numbers a message of `count` fragments; nothing = window full, try after
    // progress.
    std::optional<am_number> admit_am(std::uint64_t handle, std::uint32_t count, group_id group);
    // Lowest-numbered fragment that may go over the LIVE lane of that rail now (replays come first:
    // they have the lower numbers). Post it, or SKIP{number, first, count} if entry.skip, then
    // am_posted.
    const am_tx::entry *next_am(rail_id rail) const;
    // `now()` is called only if it is needed: a clock costs as much as the rest.
    template <class Clock>
    void am_posted(am_number n, rail_id rail, bool local_pending, Clock now, action_list &out)
    {
        const lane_slot *l = lane(rail);
        if (l == nullptr) {
            return;
        }
        tx_.posted(n, rail, l->epoch(), local_pending);
        if (!window_req_armed_) {
            ask_window(now(), out);
        }
    }
    void am_local_done(am_number n, action_list &out) { tx_.local_done(n, out); }
    // Acks that came on an AM header or alone. Messages and SEALs go through peer.
    void am_acked(am_number next, action_list &out) { tx_.covered(next, out); }
    // Delivery by completion; ignored unless the ep has a single lane.
    void am_delivered(am_number n, action_list &out);
    const am_tx &tx() const { return tx_; }

    // PUT order. A group lives until close_group.
    group_id open_group();
    void close_group(group_id id);
    const order_group &group(group_id id) const { return groups_[id - 1].state; }
    void put_added(group_id id, std::uint32_t puts) { groups_[id - 1].state.add(puts); }
    // Before a fragment is posted: what notes it afterwards allocates nothing. (am_posted() acts only
    // to ask for the window.)
    void expect_put(group_id id);
    void expect_am(action_list &out);
    void put_posted(group_id id, rail_id rail);
    // The uct completion of a PUT of that group, posted on (rail, epoch), or its end unposted
    // (epoch 0).
    void put_final(group_id id, rail_id rail, epoch_t epoch, ufx_status_t status, action_list &out);

    // Frozen fragments, oldest first; to be posted before new ops of the same kind.
    const std::vector<fragment> &frozen() const { return frozen_; }
    // Posted again on that rail's LIVE lane: leaves the list.
    void replay_posted(std::uint64_t handle, rail_id rail);

    // The op is terminal (canceled, deadline): its frozen and unposted fragments become final now;
    // what is posted goes on. For an AM, `op` is its handle.
    void end_op(std::uint64_t op, ufx_status_t status, cause why, action_list &out);

    // No AM and no frozen fragment of this ep is open.
    bool idle() const { return tx_.empty() && frozen_.empty(); }
    // Every lane is judged: nothing lands here any more and nothing is outstanding.
    bool lanes_free() const;

    template <class V>
    void fold(V &v) const
    {
        v(peer_id_);
        v(static_cast<std::uint8_t>(life_));
        v(closing_);
        v(close_acked_);
        v(window_req_armed_);
        for (const lane_slot &l : lanes_) {
            l.fold(v);
        }
        rx_.fold(v);
        tx_.fold(v);
        for (const group_slot &g : groups_) {
            v(g.used);
            g.state.fold(v);
        }
        v(static_cast<std::uint32_t>(frozen_.size()));
        for (const fragment &f : frozen_) {
            v(f.handle);
            v(f.from);
        }
    }

private:
    friend class peer;

    struct group_slot {
        bool used = false;
        order_group state;
    };

    lane_slot &slot(rail_id rail);
    void ask_window(time_ns now, action_list &out);
    // Decides every fragment that was outstanding on a lane; see docs/failover.md.
    void judge(const lane_ref &lane, const seal_msg *seal, std::span<const purged_op> ops,
               action_list &out);
    enum class fate : std::uint8_t { DONE, REPLAY, AMBIGUOUS };
    static fate fate_of(const purged_op &op, grade g, bool am_behind_covered);
    void freeze(const lane_ref &lane, fragment f, action_list &out);
    // `lane` null: it was not posted.
    void finish(const lane_ref *lane, const fragment &f, ufx_status_t status, cause why,
                bool remote_final, action_list &out);
    void put_ended(group_id id, ufx_status_t status, cause why, action_list &out);
    void abandon(action_list &out);

    ep_id id_;
    ep_id peer_id_;
    std::uint64_t connection_;
    error_mode mode_;
    life life_ = life::ALIVE;
    ufx_status_t end_status_ = UFX_OK;
    cause end_why_ = cause::NONE;
    refusal end_code_ = refusal::NONE;
    bool closing_ = false; // close_ep was called
    bool is_cut_ = false;  // as close_ep said
    bool close_acked_ = false;
    bool closed_told_ = false;
    bool window_req_armed_ = false;
    std::uint8_t replay_budget_;
    resend window_req_;
    resend close_;
    std::vector<lane_slot> lanes_;
    am_rx rx_;
    am_tx tx_;
    std::vector<group_slot> groups_;
    std::vector<fragment> frozen_;
};

} // namespace ufx::ucp::core

#endif
