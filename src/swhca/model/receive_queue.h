// SPDX-License-Identifier: BSD-3-Clause
// Receive WQEs, from the QP's own queue or from its SRQ, and scattering into them.
#ifndef UFX_SWHCA_MODEL_RECEIVE_QUEUE_H
#define UFX_SWHCA_MODEL_RECEIVE_QUEUE_H

#include "core.h"
#include "payload.h"

#include <cstdint>

namespace ufx::swhca {

// Takes the next receive WQE into one.resp.receive, unless it holds one; false if none is posted.
[[nodiscard]] bool take_receive(core &world, qp &one) noexcept;

// Syndromes of a receive completion (MLX5_CQE_SYNDROME_*); 0 if all is well.
// Appends [offset, offset + length) of `data` to what the held WQE has so far.
[[nodiscard]] uint8_t scatter_receive(core &world, qp &one, const payload &data, uint64_t length,
                                      uint64_t offset = 0) noexcept;

// The same for a whole message that goes into the CQE: only its length is checked.
[[nodiscard]] uint8_t receive_in_cqe(core &world, qp &one, const payload &data, uint32_t length,
                                     inline_payload &into) noexcept;

// Completes every receive of the QP's own queue with a flush error, or says that an SRQ's user has
// taken its last one.
void flush_receive_queue(core &world, qp &one) noexcept;

// After somebody was killed who may have been taking one.
void settle_receive(core &world, qp &one) noexcept;

// After a receive was posted to a SRQ or its limit was set: whether the limit event is due.
void check_srq_limit(core &world, srq &one) noexcept;

} // namespace ufx::swhca

#endif
