// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of an ep's AM sequence.
#include "ucp/core/am_rx.h"

#include "ucp/core/mutant.h"

namespace ufx::ucp::core {

void am_rx::lane_started(rail_id rail, epoch_t epoch)
{
    for (lane_taken &t : taken_) {
        if (t.rail == rail) {
            t = {rail, epoch, 0};
            return;
        }
    }
    taken_.push_back({rail, epoch, 0});
}

am_rx::verdict am_rx::arrived(rail_id rail, epoch_t epoch, am_number n, std::uint32_t bytes)
{
    for (lane_taken &t : taken_) {
        if (t.rail == rail && t.epoch == epoch) {
            ++t.count;
        }
    }
    ++unacked_;
    switch (window_.look(n)) {
    case window::arrival::BEYOND:
        return verdict::BAD;
    case window::arrival::DUPLICATE:
        return mutated(mutant::NO_DEDUP) ? verdict::KEEP : verdict::DUPLICATE;
    case window::arrival::FRESH:
        break;
    }
    if (n != window_.next() && held_ + bytes > hold_limit_) {
        return verdict::REFUSED;
    }
    window_.enter(n);
    held_ += bytes;
    return verdict::KEEP;
}

bool am_rx::arrived_below(am_number end) const
{
    if (mutated(mutant::BYTE_COUNT_REASSEMBLY) && unacked_ >= end) {
        return true; // so much has arrived, if duplicates count
    }
    return window_.next() >= end || mutated(mutant::HANDLED_ON_ARRIVAL);
}

} // namespace ufx::ucp::core
