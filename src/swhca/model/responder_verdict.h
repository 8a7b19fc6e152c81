// SPDX-License-Identifier: BSD-3-Clause
// What a responder does with a packet when it knows what is to become of it: it is counted, or
// refused until it comes again, or refused for good.
#ifndef UFX_SWHCA_MODEL_RESPONDER_VERDICT_H
#define UFX_SWHCA_MODEL_RESPONDER_VERDICT_H

#include "core.h"

namespace ufx::swhca {

// A NAK of `psn` becomes due, unless one of an earlier packet is.
void refuse(core &world, qp &one, uint32_t psn, uint8_t syndrome) noexcept;

// And what follows is dropped, until that packet comes again.
void refuse_once(core &world, qp &one, uint32_t psn, uint8_t syndrome) noexcept;

// There is no receive.
void refuse_not_ready(core &world, qp &one, const packet &what) noexcept;

// Refuses for good: the QP is in ERR, with an event unless it is 0.
void fail(core &world, qp &one, uint32_t psn, uint8_t syndrome, uint32_t event) noexcept;
void fail_invalid(core &world, qp &one, uint32_t psn) noexcept;
void fail_access(core &world, qp &one, uint32_t psn) noexcept;

// Whether the QP grants `right`, and the key grants it for the whole range (IBA 1.4, 11.6.2). If
// not, the QP has failed.
[[nodiscard]] bool is_granted(core &world, qp &one, const packet &what, uint32_t length,
                              uint32_t right) noexcept;

// The PSN is last: a packet that is not counted comes again, one that is counted is owed an answer.
void accept(core &world, qp &one, const packet &what, uint32_t psns) noexcept;

} // namespace ufx::swhca

#endif
