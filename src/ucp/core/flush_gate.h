// SPDX-License-Identifier: BSD-3-Clause
// Counts the ops of an ep by generations, so that a flush waits for exactly those before it.
#ifndef UFX_UCP_CORE_FLUSH_GATE_H
#define UFX_UCP_CORE_FLUSH_GATE_H

#include "ucp/core/mutant.h"

#include <cstdint>
#include <deque>

namespace ufx::ucp::core {

// An op stays in its generation from submission until it is complete, frozen and replayed or not:
// so a flush issued between an error and the replay completes after the replay (row X04).
class flush_gate {
public:
    using generation = std::uint64_t;

    // An op is submitted; give its generation back with leave().
    generation enter()
    {
        ++counts_.back();
        return first_ + counts_.size() - 1;
    }
    void leave(generation g)
    {
        --counts_[static_cast<std::size_t>(g - first_)];
        trim();
    }
    // A flush is submitted: it is over when passed(generation) holds.
    generation close()
    {
        const generation g = first_ + counts_.size() - 1;
        counts_.push_back(0);
        trim();
        return g;
    }
    bool passed(generation g) const
    {
        return g < first_ || (mutated(mutant::FLUSH_PASSES_EARLY) && g == first_);
    }

private:
    void trim()
    {
        while (counts_.size() > 1 && counts_.front() == 0) {
            counts_.pop_front();
            ++first_;
        }
    }

    generation first_ = 0;
    std::deque<std::uint32_t> counts_ = std::deque<std::uint32_t>(1);
};

} // namespace ufx::ucp::core

#endif
