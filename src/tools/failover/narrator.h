// SPDX-License-Identifier: BSD-3-Clause
// narrator: says what happens as it happens.
#ifndef UFX_TOOLS_FAILOVER_NARRATOR_H
#define UFX_TOOLS_FAILOVER_NARRATOR_H

#include "tools/failover/timeline.h"

#include <cstddef>
#include <cstdio>

namespace ufx::tools::failover {

class narrator {
public:
    /** @param out NULL: says nothing */
    narrator(const timeline &story, std::FILE *out) : story_(story), out_(out) {}

    void say(const char *format, ...) __attribute__((format(printf, 2, 3)));

    /** As watch(), and new faults, and a line of throughput at each beat. */
    void tick(uint64_t now, const std::vector<ufx_ucp_rail_attr_t> &rails, size_t in_flight);

    /** Tells rail events at once, and when no rail is left. */
    void watch(uint64_t now, const std::vector<ufx_ucp_rail_attr_t> &rails);

private:
    void tell_whether_all_are_down(uint64_t now, const std::vector<ufx_ucp_rail_attr_t> &rails);
    void tell_faults();
    void tell_events();

    const timeline &story_;
    std::FILE *out_;
    size_t faults_ = 0;
    size_t events_ = 0;
    uint64_t last_ns_ = 0;
    bool all_down_ = false;
};

} // namespace ufx::tools::failover

#endif
