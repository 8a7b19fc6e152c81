// SPDX-License-Identifier: BSD-3-Clause
// Counts a completion down; the last operation that ends calls it.
#ifndef UFX_UCT_BASE_COMPLETION_H
#define UFX_UCT_BASE_COMPLETION_H

#include <ufx/uct_types.h>

namespace ufx::uct {

// One operation of `comp` ended; NULL is fine. The first error stays. The callback may free `comp`.
inline void finish(ufx_uct_completion_t *comp, ufx_status_t status) noexcept
{
    if (comp == nullptr) {
        return;
    }
    if (status != UFX_OK && comp->status == UFX_OK) [[unlikely]] {
        comp->status = status;
    }
    if (--comp->count == 0) {
        comp->func(comp);
    }
}

} // namespace ufx::uct

#endif
