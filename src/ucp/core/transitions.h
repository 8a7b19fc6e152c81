// SPDX-License-Identifier: BSD-3-Clause
// The last 64 changes of a rail's state, with time and cause, for people and JSON.
#ifndef UFX_UCP_CORE_TRANSITIONS_H
#define UFX_UCP_CORE_TRANSITIONS_H

#include "ucp/core/action.h"

#include <vector>

namespace ufx::ucp::core {

class transitions {
public:
    static constexpr unsigned kept = 64;
    struct entry {
        time_ns at = 0;
        rail_state from{};
        rail_state to{};
        cause why{};
    };

    void add(const entry &e)
    {
        if (ring_.size() < kept) {
            ring_.push_back(e);
        } else {
            ring_[total_ % kept] = e;
        }
        ++total_;
    }
    // All that ever happened; the last min(total, kept) are still there.
    std::uint64_t total() const { return total_; }
    unsigned size() const { return total_ < kept ? static_cast<unsigned>(total_) : kept; }
    // 0 is the oldest that is kept.
    const entry &operator[](unsigned i) const { return ring_[(total_ - size() + i) % kept]; }

private:
    std::uint64_t total_ = 0;
    std::vector<entry> ring_; // at most `kept`
};

} // namespace ufx::ucp::core

#endif
