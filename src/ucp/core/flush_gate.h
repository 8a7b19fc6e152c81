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
        ++open_;
        return now_;
    }
    void leave(generation g)
    {
        if (g == now_) {
            --open_;
            return;
        }
        --counts_[static_cast<std::size_t>(g - first_)];
        trim();
    }
    // A flush is submitted: it is over when passed(generation) holds.
    generation close()
    {
        counts_.push_back(open_);
        open_ = 0;
        trim();
        return now_++;
    }
    bool passed(generation g) const
    {
        return g < first_ || (mutated(mutant::FLUSH_PASSES_EARLY) && g == first_);
    }

private:
    void trim()
    {
        while (!counts_.empty() && counts_.front() == 0) {
            counts_.pop_front();
            ++first_;
        }
    }

    generation now_ = 0;
    std::uint32_t open_ = 0;           // of this generation
    generation first_ = 0;             // that is not passed
    std::deque<std::uint32_t> counts_; // from first_ to before now_
};

} // namespace ufx::ucp::core

#endif
