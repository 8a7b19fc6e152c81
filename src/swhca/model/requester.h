// SPDX-License-Identifier: BSD-3-Clause
// The requester side of a QP: from WQEs to packets, and from answers to completions.
#ifndef UFX_SWHCA_MODEL_REQUESTER_H
#define UFX_SWHCA_MODEL_REQUESTER_H

#include "core.h"
#include "payload.h"

#include <cstdint>

namespace ufx::swhca {

// Sends what may be sent now. True if it stopped for fairness and has more.
[[nodiscard]] bool run_requester(core &world, qp &one) noexcept;

// An acknowledgement, a NAK, or data of a read or an atomic.
void receive_response(core &world, qp &one, const packet &what, const payload &data) noexcept;

// Acts on timers that have expired; returns the earliest that runs, or UINT64_MAX.
uint64_t run_timers(core &world, qp &one) noexcept;

// Completes every WQE that is posted and not complete with a flush error.
void flush_send_queue(core &world, qp &one) noexcept;

} // namespace ufx::swhca

#endif
