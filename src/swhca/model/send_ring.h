// SPDX-License-Identifier: BSD-3-Clause
// The ring of send WQEs between their fetch and their completion, and moving through it.
//
//     head ...... next ...... tail        complete <- acknowledged | sent | fetched
//
// Going back to a PSN moves `next` (and next_packet) back; nothing else is undone.
#ifndef UFX_SWHCA_MODEL_SEND_RING_H
#define UFX_SWHCA_MODEL_SEND_RING_H

#include "core.h"

#include <cstdint>

namespace ufx::swhca {

[[nodiscard]] inline sent_wqe &at(qp &one, uint32_t position) noexcept
{
    return one.ring[position % max_outstanding];
}

// Small data of a WQE that has a CQE may go there, which is written as soon as the data has come.
[[nodiscard]] inline bool lands_in_cqe(const qp &one, const sent_wqe &entry) noexcept
{
    return entry.read_like && entry.signaled && entry.length > 0 &&
           entry.length <= one.inline_requests;
}

void start_ack_timer(core &world, qp &one) noexcept;

// Completes what is at the head of the ring and done.
void retire(core &world, qp &one) noexcept;

// A WQE with a local error fails when all before it are done; false if it is not its turn.
bool fail_head(core &world, qp &one) noexcept;

// Ends the QP by an error of its oldest WQE.
void fail_oldest(core &world, qp &one, uint8_t syndrome) noexcept;

// Everything before `psn` is acknowledged; false if that is nothing new.
bool acknowledge(core &world, qp &one, uint32_t psn) noexcept;

// What is from `psn` on is sent again.
void go_back(core &world, qp &one, uint32_t psn) noexcept;

// The oldest read or atomic that waits for its data; nullptr if there is none.
[[nodiscard]] sent_wqe *oldest_read(qp &one) noexcept;

} // namespace ufx::swhca

#endif
