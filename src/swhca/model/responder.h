// SPDX-License-Identifier: BSD-3-Clause
// The responder side of a QP: from requests to memory, receive completions and answers.
#ifndef UFX_SWHCA_MODEL_RESPONDER_H
#define UFX_SWHCA_MODEL_RESPONDER_H

#include "core.h"
#include "payload.h"

namespace ufx::swhca {

void receive_request(core &world, qp &one, const packet &what, const payload &data) noexcept;

// Sends the answers that are due. True if it stopped for fairness and has more.
[[nodiscard]] bool run_responder(core &world, qp &one) noexcept;

} // namespace ufx::swhca

#endif
