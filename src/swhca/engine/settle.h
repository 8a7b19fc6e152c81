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

} // namespace ufx::swhca

#endif
