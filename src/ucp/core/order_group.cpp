// SPDX-License-Identifier: BSD-3-Clause
// PUTs that something is ordered after.
#include "ucp/core/order_group.h"

#include "ucp/core/mutant.h"

#include <algorithm>

namespace ufx::ucp::core {

void order_group::posted(rail_id rail, epoch_t epoch)
{
    for (place &p : posted_) {
        if (p.rail == rail && p.epoch == epoch) {
            ++p.count;
            return;
        }
    }
    posted_.push_back({rail, epoch, 1});
}

void order_group::leave(rail_id rail, epoch_t epoch)
{
    for (place &p : posted_) {
        if (p.rail == rail && p.epoch == epoch) {
            --p.count;
        }
    }
    std::erase_if(posted_, [](const place &p) { return p.count == 0; });
}

void order_group::frozen(rail_id rail, epoch_t epoch)
{
    leave(rail, epoch);
}

void order_group::final_on(rail_id rail, epoch_t epoch, ufx_status_t status)
{
    leave(rail, epoch);
    final_waiting(status);
}

void order_group::final_waiting(ufx_status_t status)
{
    --not_final_;
    failed_ = failed_ || status != UFX_OK;
}

bool order_group::may_follow(rail_id rail, epoch_t epoch) const
{
    if (failed_) {
        return false;
    }
    if (not_final_ == 0 || mutated(mutant::NOTIFY_BEFORE_PUT)) {
        return true;
    }
    return std::any_of(posted_.begin(), posted_.end(), [&](const place &p) {
        return p.rail == rail && p.epoch == epoch && p.count == not_final_;
    });
}

} // namespace ufx::ucp::core
