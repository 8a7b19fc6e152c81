// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of an ep's AM sequence: the window, what was taken from each lane, held bytes.
#ifndef UFX_UCP_CORE_AM_RX_H
#define UFX_UCP_CORE_AM_RX_H

#include "ucp/core/control_msg.h"
#include "ucp/core/window.h"

#include <vector>

namespace ufx::ucp::core {

// Arrival is counted here; handlers run later, in order, from progress: ucp keeps fragments until
// their number is below window().next() and all before have run, then calls handled().
class am_rx {
public:
    enum class verdict : std::uint8_t {
        KEEP,      // fresh: keep it (its handler runs when its turn comes)
        DUPLICATE, // drop it
        REFUSED,   // too many bytes are held: drop it, the sender learns it from the taken count
        BAD        // beyond the window: the peer breaks the protocol
    };

    explicit am_rx(std::uint64_t hold_limit = 0) : hold_limit_(hold_limit) {}

    // One AM fragment (or SKIP, with 0 bytes) was taken from that lane. The fragment numbered
    // window().next() is never refused.
    verdict arrived(rail_id rail, epoch_t epoch, am_number n, std::uint32_t bytes);
    // The handler of a kept fragment has run: its bytes are not held any more.
    void handled(std::uint32_t bytes) { held_ -= bytes; }

    const core::window &window() const { return window_; }
    // Every fragment below `end` is here: a message that ends there may be handled when its turn
    // comes.
    bool arrived_below(am_number end) const;
    std::uint64_t held_bytes() const { return held_; }
    const std::vector<lane_taken> &taken() const { return taken_; }
    // Fragments that arrived since the last ack was sent; >= 256 asks for a lone ack.
    std::uint32_t unacked() const { return unacked_; }
    void acked() { unacked_ = 0; }
    // A new lane of that rail: counting starts from 0.
    void lane_started(rail_id rail, epoch_t epoch);

    // Every part of the state that can make a difference, for the explorer.
    template <class V>
    void fold(V &v) const
    {
        v(window_);
        v(held_);
        for (const lane_taken &t : taken_) {
            v(t.rail);
            v(t.epoch);
            v(t.count);
        }
    }

private:
    core::window window_;
    std::uint64_t hold_limit_;
    std::uint64_t held_ = 0;
    std::uint32_t unacked_ = 0;
    std::vector<lane_taken> taken_;
};

} // namespace ufx::ucp::core

#endif
