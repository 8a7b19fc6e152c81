// SPDX-License-Identifier: BSD-3-Clause
// Reads and atomics at the responder. Each takes one of the responder resources, by which it is
// answered, and answered again if the answer was lost: an atomic is never executed twice.
#ifndef UFX_SWHCA_MODEL_RESPONDER_READS_H
#define UFX_SWHCA_MODEL_RESPONDER_READS_H

#include "core.h"

namespace ufx::swhca {

void receive_read(core &world, qp &one, const packet &what) noexcept;
void receive_atomic(core &world, qp &one, const packet &what) noexcept;

// A read or an atomic that comes again. A read may ask for the rest of what it had. PSNs come
// again, so the newest resource is the one that is meant.
void answer_again(core &world, qp &one, const packet &what) noexcept;

// The read or atomic that was remembered last.
[[nodiscard]] resource &newest_resource(qp &one) noexcept;

[[nodiscard]] packet answer_headers(core &world, const qp &one, uint32_t dst_hca) noexcept;

enum class answers : uint8_t {
    ALL,
    MORE,    // it stopped for fairness
    NO_ROOM, // the link has none
};

// Sends the answers that are due, in the order of their PSNs.
[[nodiscard]] answers send_answers(core &world, qp &one, uint32_t dst_hca) noexcept;

} // namespace ufx::swhca

#endif
