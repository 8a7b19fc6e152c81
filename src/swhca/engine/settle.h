// SPDX-License-Identifier: BSD-3-Clause
// A queue pair on which somebody was killed.
#ifndef UFX_SWHCA_ENGINE_SETTLE_H
#define UFX_SWHCA_ENGINE_SETTLE_H

#include "swhca/model/core.h"

namespace ufx::swhca {

// Finds out how far the dead came, so that the QP goes on and each work request of it completes
// once: it is as if the step had been done in full or not at all. By an engine that reaches its
// owner.
void settle_torn(core &world, uint32_t qp_index) noexcept;

// Whether its last CQE may be written, but is not counted by the CQ. Such a QP is settled before
// others that complete on this CQ.
[[nodiscard]] bool is_completing(const image &shared, const qp &one) noexcept;

} // namespace ufx::swhca

#endif
