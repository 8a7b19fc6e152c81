// SPDX-License-Identifier: BSD-3-Clause
// Which (state, event) pairs of the core's tables a run reached.
#ifndef UFX_EXPLORE_COVERAGE_H
#define UFX_EXPLORE_COVERAGE_H

#include "ucp/core/peer.h"

#include <map>
#include <string>
#include <vector>

namespace ufx::explore {

class coverage {
public:
    void lane(const ucp::core::lane_slot *slot, const char *event);
    void rail(const ucp::core::rail *rail, const char *event);
    // Pairs that exist in the tables and were not reached.
    std::vector<std::string> unreached() const;
    std::size_t reached() const { return hits_.size(); }

private:
    std::map<std::string, std::uint64_t> hits_;
};

} // namespace ufx::explore

#endif
