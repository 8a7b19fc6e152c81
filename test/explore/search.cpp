// SPDX-License-Identifier: BSD-3-Clause
// Ways through the explored world.
#include "search.h"

#include <algorithm>
#include <deque>
#include <random>
#include <unordered_map>

namespace ufx::explore {

namespace {

struct hash_of_pair {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t> &p) const
    {
        return p.first ^ p.second;
    }
};

// Where a state was first reached from: enough to write down the shortest trace.
struct origin {
    std::uint32_t parent;
    event by;
};

trace path_to(const std::vector<origin> &origins, std::uint32_t state)
{
    trace steps;
    while (state != 0) {
        steps.push_back(origins[state].by);
        state = origins[state].parent;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
}

unsigned weight_of(step kind)
{
    switch (kind) {
    case step::TIMER:
    case step::LOSE:
    case step::DOUBLE:
        return 1;
    case step::HEAL:
    case step::RETRY_EXC:
    case step::RESET:
        return 4;
    default:
        return is_fault(kind) ? 2 : 8;
    }
}

const event &pick(const std::vector<event> &from, std::mt19937_64 &random)
{
    unsigned total = 0;
    for (const event &e : from) {
        total += weight_of(e.kind);
    }
    auto left = static_cast<unsigned>(random() % total);
    for (const event &e : from) {
        const unsigned weight = weight_of(e.kind);
        if (left < weight) {
            return e;
        }
        left -= weight;
    }
    return from.back();
}

// Message of a broken promise without its numbers: shrinking may change which op it is.
std::string kind_of(const std::string &broken)
{
    std::string kind;
    std::copy_if(broken.begin(), broken.end(), std::back_inserter(kind),
                 [](char c) { return c < '0' || c > '9'; });
    return kind;
}

} // namespace

finding breadth_first(const scenario &plan, const limits &to, coverage &seen, tally &sum)
{
    std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t, hash_of_pair> known;
    std::vector<origin> origins{{0, {}}};
    std::deque<std::pair<std::uint32_t, world>> frontier;
    frontier.emplace_back(0, world(plan, &seen));
    known.emplace(frontier.front().second.hash(), 0);
    while (!frontier.empty()) {
        const auto [id, here] = std::move(frontier.front());
        frontier.pop_front();
        for (const event &e : here.enabled()) {
            world next = here;
            next.apply(e);
            ++sum.steps;
            if (!next.broken().empty()) {
                trace steps = path_to(origins, id);
                steps.push_back(e);
                return {steps, next.broken()};
            }
            if (next.highest_epoch() > to.epochs ||
                !known.emplace(next.hash(), origins.size()).second) {
                continue;
            }
            const auto child = static_cast<std::uint32_t>(origins.size());
            origins.push_back({id, e});
            ++sum.states;
            if (child % to.settle_every == 0) {
                world end = next;
                const std::string broken = end.settle();
                ++sum.settled;
                if (!broken.empty()) {
                    return {path_to(origins, child), broken};
                }
            }
            if (sum.states < to.states) {
                frontier.emplace_back(child, std::move(next));
            }
        }
        if (sum.states >= to.states) {
            return {};
        }
    }
    sum.complete = true;
    return {};
}

finding random_walks(const scenario &plan, const limits &to, coverage &seen, tally &sum)
{
    std::mt19937_64 random(to.seed);
    for (std::uint64_t walk = 0; walk < to.walks; ++walk) {
        world here(plan, &seen);
        trace steps;
        const unsigned length = static_cast<unsigned>(random() % to.walk_length) + 1;
        for (unsigned i = 0; i < length && here.broken().empty(); ++i) {
            const std::vector<event> options = here.enabled();
            if (options.empty()) {
                break;
            }
            steps.push_back(pick(options, random));
            here.apply(steps.back());
            ++sum.steps;
        }
        std::string broken = here.broken();
        if (broken.empty()) {
            broken = here.settle();
            ++sum.settled;
        }
        if (!broken.empty()) {
            return {steps, broken};
        }
    }
    return {};
}

finding replay(const scenario &plan, const trace &steps, coverage &seen)
{
    world here(plan, &seen);
    finding out;
    for (const event &e : steps) {
        if (here.broken().empty() && here.try_apply(e)) {
            out.steps.push_back(e);
        }
    }
    out.broken = here.broken().empty() ? here.settle() : here.broken();
    return out;
}

finding shrink(const scenario &plan, const finding &found)
{
    coverage unused;
    finding best = replay(plan, found.steps, unused);
    const std::string wanted = kind_of(found.broken);
    if (kind_of(best.broken) != wanted) {
        return found;
    }
    for (std::size_t chunk = std::max<std::size_t>(best.steps.size() / 2, 1);; chunk /= 2) {
        bool shorter = true;
        while (shorter) {
            shorter = false;
            for (std::size_t at = 0; at < best.steps.size();) {
                trace fewer = best.steps;
                fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                            fewer.begin() +
                                static_cast<std::ptrdiff_t>(std::min(at + chunk, fewer.size())));
                finding tried = replay(plan, fewer, unused);
                if (kind_of(tried.broken) == wanted && tried.steps.size() < best.steps.size()) {
                    best = std::move(tried);
                    shorter = true;
                } else {
                    at += chunk;
                }
            }
        }
        if (chunk <= 1) {
            return best;
        }
    }
}

} // namespace ufx::explore
