// SPDX-License-Identifier: BSD-3-Clause
// inspector: judges chunks, without any transport: what arrived, and what is wrong with it.
#ifndef UFX_TOOLS_FAILOVER_INSPECTOR_H
#define UFX_TOOLS_FAILOVER_INSPECTOR_H

#include "tools/common/fields.h"
#include "tools/failover/chunk.h"

#include <vector>

namespace ufx::tools::failover {

class inspector {
public:
    explicit inspector(geometry shape) : shape_(shape) {}

    /**
     * One chunk.
     * @return true if it is right and new: its payload may be written
     */
    bool accept(const chunk_header &header, const void *payload);

    /** A header that is none, or a landing zone that does not hold what was announced. */
    void damaged() { corrupted_++; }

    /** The number of an active message must be the next one. */
    void in_order(uint64_t order);

    /** @param chunks how many were sent */
    fields result(uint64_t chunks) const;

    uint64_t lost(uint64_t chunks) const { return chunks > distinct_ ? chunks - distinct_ : 0; }
    bool clean(uint64_t chunks) const
    {
        return lost(chunks) == 0 && duplicated_ == 0 && corrupted_ == 0 && misordered_ == 0;
    }

private:
    geometry shape_;
    std::vector<bool> seen_;
    uint64_t distinct_ = 0;
    uint64_t duplicated_ = 0;
    uint64_t corrupted_ = 0;
    uint64_t misordered_ = 0;
    uint64_t next_order_ = 0;
    uint64_t bytes_ = 0;
};

} // namespace ufx::tools::failover

#endif
