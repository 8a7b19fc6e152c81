// SPDX-License-Identifier: BSD-3-Clause
// Unreliable datagrams: sending one, and receiving one behind its global route header.
#ifndef UFX_SWHCA_MODEL_DATAGRAM_H
#define UFX_SWHCA_MODEL_DATAGRAM_H

#include "core.h"
#include "payload.h"

namespace ufx::swhca {

// Sends what is posted. True if it stopped for fairness and has more.
[[nodiscard]] bool run_datagrams(core &world, qp &one) noexcept;

void receive_datagram(core &world, qp &one, const packet &what, const payload &data) noexcept;

} // namespace ufx::swhca

#endif
