// SPDX-License-Identifier: BSD-3-Clause
// Seal records of one peer: what this side said in its SEALs, kept and resent until SEAL_ACK.
#ifndef UFX_UCP_CORE_SEAL_BOOK_H
#define UFX_UCP_CORE_SEAL_BOOK_H

#include "ucp/core/action.h"
#include "ucp/core/resend.h"

#include <map>
#include <set>
#include <utility>

namespace ufx::ucp::core {

// A record outlives its lane and even its ep. It dies by SEAL_ACK, or when the peer is declared
// dead; one of a lane that waits for the peer's SEAL is resent until that has come too: the peer
// may have acked and then, before it sent its own, declared this side dead and forgotten all.
class seal_book {
public:
    // Each copy of a peer's SEAL asks for the own one again. Two sides that both repeat theirs over
    // several ways would answer each other without end, so a record is not sent again so soon.
    static constexpr time_ns echo_gap_ns = resend_first_ns / 2;
    static constexpr std::size_t max_answers = 4096;

    // Files the SEAL under a new seal id, sends it, and arms its timer.
    void open(seal_msg seal, bool awaits_peer, time_ns now, action_list &out);
    // The peer's SEAL for that lane has come.
    void peer_sealed(ep_id own_ep, rail_id rail, epoch_t epoch, action_list &out);
    // Sends the record of that lane again, if there is one, but for echoes. True if there is.
    bool answer_again(ep_id own_ep, ep_id peer_ep, rail_id rail, epoch_t epoch, time_ns now,
                      action_list &out);
    bool holds_any_of(ep_id own_ep) const;
    // One of scope RAIL for that rail is not acked.
    bool holds_rail(rail_id rail) const;
    // The timer of that record fired: send it again.
    void timer(std::uint64_t seal_id, time_ns now, action_list &out);
    // The peer acked it. The own ep of that record, or 0.
    ep_id ack(std::uint64_t seal_id, action_list &out);
    void forget_all(action_list &out);
    bool empty() const { return records_.empty(); }
    // For one more about a lane that this side has never built. A peer that acks has few of them
    // open; one that does not must not fill the memory.
    bool has_room() const;

    struct record {
        seal_msg seal;
        resend schedule;
        time_ns sent_at = 0; // the last time
        bool awaits_peer = false;
        bool acked = false;
    };
    const std::map<std::uint64_t, record> &records() const { return records_; }

    template <class V>
    void fold(V &v) const
    {
        v(last_id_);
        for (const auto &[id, r] : records_) {
            v.message(r.seal);
            v(r.awaits_peer);
            v(r.acked);
        }
    }

private:
    using place = std::map<std::uint64_t, record>::iterator;

    // Takes it out if nothing more is expected.
    void release_if_settled(place at, action_list &out);
    record *find(ep_id own_ep, ep_id peer_ep, rail_id rail, epoch_t epoch);
    record *find_own(ep_id own_ep, rail_id rail, epoch_t epoch);

    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, record> records_;          // by seal id
    std::set<std::pair<ep_id, std::uint64_t>> of_ep_;  // own ep, or 0, and seal id
    std::map<rail_id, std::size_t> unacked_of_rail_;   // of scope RAIL
};

} // namespace ufx::ucp::core

#endif
