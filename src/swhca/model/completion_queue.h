// SPDX-License-Identifier: BSD-3-Clause
// Completion queues: writing CQEs, arming, and the faults that act on CQEs.
#ifndef UFX_SWHCA_MODEL_COMPLETION_QUEUE_H
#define UFX_SWHCA_MODEL_COMPLETION_QUEUE_H

#include "core.h"

#include "swhca/wire/cqe.h"

#include <cstdint>

namespace ufx::swhca {

// Completes something of `one` on its send or receive CQ, after the faults have had their say.
// A full CQ loses the CQE, fails for good, raises CQ_ERR, and fails the QPs that use it, then and
// whenever one tries to complete on it again.
void complete(core &world, qp &one, uint32_t cq_index, completion what) noexcept;

// Looks at the arm word, which names the consumer index: a program that arms while CQEs wait behind
// that is notified at once, even if an event has told of them before. A program may arm first and
// poll a few at a time.
void check_arm(core &world, cq &one) noexcept;

// Raises the events that waited for more completions; returns when the next is due, or UINT64_MAX.
uint64_t raise_waiting_events(core &world) noexcept;

// Writes the CQEs whose time has come; returns when the next is due, or UINT64_MAX.
uint64_t release_held_cqes(core &world) noexcept;

// Writes what is kept back of a QP that is about to be reset or destroyed: afterwards nothing of it
// may come, since the provider then removes from the CQ what it finds.
void write_held_cqes(core &world, const qp &of) noexcept;

// Forgets what is kept back for a CQ that is destroyed.
void forget_held_cqes(core &world, uint32_t cq_index) noexcept;

// Words of the doorbell record.
inline constexpr uint32_t cq_consumer_word = 0;
inline constexpr uint32_t cq_arm_word = 1;

inline constexpr uint32_t unarmed_word = UINT32_MAX; // in the arm record of a new CQ

} // namespace ufx::swhca

#endif
