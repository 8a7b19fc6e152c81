// SPDX-License-Identifier: BSD-3-Clause
// PUTs that something is ordered after (a notify, or what follows a fence), and where each one is.
#ifndef UFX_UCP_CORE_ORDER_GROUP_H
#define UFX_UCP_CORE_ORDER_GROUP_H

#include "ucp/core/types.h"

#include <ufx/status.h>

#include <vector>

namespace ufx::ucp::core {

using group_id = std::uint32_t; // 0 = none

// A PUT of the group is WAITING (not posted, or frozen), POSTED on a lane, or final. What follows
// may be posted *or replayed* on a lane only when every PUT is final or is posted on that very lane
// and epoch; across rails that means: all final. A PUT that ends in any status but OK makes what
// follows a SKIP.
class order_group {
public:
    void add(std::uint32_t puts) { not_final_ += puts; }
    // Room for the next posted(), which then allocates nothing.
    void expect_post() { posted_.reserve(posted_.size() + 1); }
    void posted(rail_id rail, epoch_t epoch);
    // Its lane was purged and the PUT goes to the frozen list.
    void frozen(rail_id rail, epoch_t epoch);
    // Final after it was posted on that lane.
    void final_on(rail_id rail, epoch_t epoch, ufx_status_t status);
    // Final while it was waiting (canceled, replay budget used up).
    void final_waiting(ufx_status_t status);

    bool may_follow(rail_id rail, epoch_t epoch) const;
    bool failed() const { return failed_; }

    template <class V>
    void fold(V &v) const
    {
        v(not_final_);
        v(failed_);
        for (const place &p : posted_) {
            v(p.rail);
            v(p.epoch);
            v(p.count);
        }
    }

private:
    struct place {
        rail_id rail;
        epoch_t epoch;
        std::uint32_t count;
    };
    void leave(rail_id rail, epoch_t epoch);

    std::uint32_t not_final_ = 0;
    bool failed_ = false;
    std::vector<place> posted_;
};

} // namespace ufx::ucp::core

#endif
