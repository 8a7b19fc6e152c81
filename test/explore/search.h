// SPDX-License-Identifier: BSD-3-Clause
// Ways through the explored world: breadth first, random walks, replay and shrinking of a trace.
#ifndef UFX_EXPLORE_SEARCH_H
#define UFX_EXPLORE_SEARCH_H

#include "world.h"

namespace ufx::explore {

struct finding {
    trace steps;
    std::string broken; // empty: nothing was found
};

struct tally {
    std::uint64_t states = 0;
    std::uint64_t steps = 0;
    std::uint64_t settled = 0;
    bool complete = false; // breadth first: every state within the epoch limit was seen
};

struct limits {
    std::uint64_t states = 20000;
    std::uint64_t walks = 300;
    std::uint64_t seed = 1;
    unsigned walk_length = 120;
    unsigned settle_every = 40; // breadth first: this share of the states is run to the end
    core::epoch_t epochs = 4;
};

finding breadth_first(const scenario &plan, const limits &to, coverage &seen, tally &sum);
finding random_walks(const scenario &plan, const limits &to, coverage &seen, tally &sum);

// What a trace breaks, run from the start; steps that are not enabled are left out of `done`.
finding replay(const scenario &plan, const trace &steps, coverage &seen);
// The same broken promise with as few steps as greedy removal finds.
finding shrink(const scenario &plan, const finding &found);

} // namespace ufx::explore

#endif
