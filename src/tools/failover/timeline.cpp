// SPDX-License-Identifier: BSD-3-Clause
// What happened when.
#include "tools/failover/timeline.h"

#include "tools/common/units.h"

#include <algorithm>

namespace ufx::tools::failover {

namespace {

// Cause of a rail's change, as the library words it.
constexpr const char *BY_ADMIN = "ADMIN";
// A rail is given up and its lanes are sealed in one turn.
constexpr uint64_t ONE_TURN_NS = 1000000;

bool is_failure(const rail_event &one)
{
    return one.to == UFX_UCP_RAIL_DRAINING && one.cause != BY_ADMIN;
}

bool leaves_up(const rail_event &one)
{
    return one.from == UFX_UCP_RAIL_UP && one.to != UFX_UCP_RAIL_UP && one.cause != BY_ADMIN;
}

} // namespace

void timeline::start(uint64_t now, const std::vector<ufx_ucp_rail_attr_t> &rails)
{
    start_ns_ = now;
    end_ns_ = now;
    for (const ufx_ucp_rail_attr_t &rail : rails) {
        rails_.push_back(rail.name);
        rail_base_.push_back(rail.tx_bytes);
    }
    events_.clear();
    add(now, 0, rails);
}

void timeline::add(uint64_t now, uint64_t bytes, const std::vector<ufx_ucp_rail_attr_t> &rails)
{
    sample one;
    one.at_ns = now;
    one.bytes = bytes;
    for (size_t i = 0; i < rails_.size() && i < rails.size(); i++) {
        one.rail_bytes.push_back(rails[i].tx_bytes - rail_base_[i]);
    }
    one.rail_bytes.resize(rails_.size());
    samples_.push_back(std::move(one));
    end_ns_ = now;
}

void timeline::add(const ufx_ucp_failover_stats_t &stats)
{
    if (stats.last_start_ns < start_ns_) {
        return;
    }
    if (failovers_.empty() || failovers_.back().last_start_ns != stats.last_start_ns) {
        failovers_.push_back(stats);
    } else {
        failovers_.back() = stats;
    }
}

double timeline::seconds(uint64_t at_ns) const
{
    return (static_cast<double>(at_ns) - static_cast<double>(start_ns_)) / 1e9;
}

template <class Get>
double timeline::interpolate(uint64_t at_ns, Get get) const
{
    const auto after =
        std::lower_bound(samples_.begin(), samples_.end(), at_ns,
                         [](const sample &one, uint64_t at) { return one.at_ns < at; });
    if (after == samples_.begin()) {
        return 0;
    }
    const sample &left = *(after - 1);
    if (after == samples_.end()) {
        return static_cast<double>(get(left));
    }
    const double part =
        static_cast<double>(at_ns - left.at_ns) / static_cast<double>(after->at_ns - left.at_ns);
    return static_cast<double>(get(left)) +
           part * (static_cast<double>(get(*after)) - static_cast<double>(get(left)));
}

double timeline::bytes_at(uint64_t at_ns) const
{
    return interpolate(at_ns, [](const sample &one) { return one.bytes; });
}

double timeline::rail_bytes_at(unsigned rail, uint64_t at_ns) const
{
    return interpolate(at_ns, [rail](const sample &one) { return one.rail_bytes[rail]; });
}

double timeline::mbps(uint64_t from_ns, uint64_t to_ns) const
{
    if (to_ns <= from_ns) {
        return 0;
    }
    return (bytes_at(to_ns) - bytes_at(from_ns)) / MIB /
           (static_cast<double>(to_ns - from_ns) / 1e9);
}

std::vector<outage> timeline::outages() const
{
    struct change {
        uint64_t at_ns;
        unsigned rail;
        bool broken;
    };
    std::vector<change> changes;
    for (const applied_fault &one : faults_) {
        changes.push_back({one.at_ns, one.rail, breaks(one.action)});
    }
    for (const rail_event &one : events_) {
        if (faults_.empty() && (leaves_up(one) || one.to == UFX_UCP_RAIL_UP)) {
            changes.push_back({one.time_ns, one.index, one.to != UFX_UCP_RAIL_UP});
        }
    }
    std::vector<outage> result;
    for (const change &one : changes) {
        const auto open = std::find_if(result.begin(), result.end(), [&](const outage &o) {
            return o.rail == one.rail && !o.ended;
        });
        if (one.broken && open == result.end()) {
            for (outage &before : result) {
                const bool is_last = before.rail == one.rail && before.next_ns == UINT64_MAX;
                before.next_ns = is_last ? one.at_ns : before.next_ns;
            }
            result.push_back({one.at_ns, end_ns_, one.rail, false});
        } else if (!one.broken && open != result.end()) {
            open->end_ns = one.at_ns;
            open->ended = true;
        }
    }
    return result;
}

const rail_event *timeline::left_up(unsigned rail, uint64_t from_ns, uint64_t to_ns) const
{
    for (const rail_event &one : events_) {
        if (one.index == rail && leaves_up(one) && one.time_ns >= from_ns && one.time_ns <= to_ns) {
            return &one;
        }
    }
    return nullptr;
}

std::string timeline::rail_label(unsigned rail) const
{
    const std::string label = "rail" + std::to_string(rail);
    return rail >= rails_.size() || rails_[rail] == label ? label
                                                          : label + " (" + rails_[rail] + ")";
}

uint64_t timeline::failures(unsigned rail) const
{
    return static_cast<uint64_t>(
        std::count_if(events_.begin(), events_.end(),
                      [&](const rail_event &one) { return one.index == rail && is_failure(one); }));
}

uint64_t timeline::grace_ns(uint64_t start_ns) const
{
    for (size_t i = events_.size(); i-- > 0;) {
        if (is_failure(events_[i]) && events_[i].time_ns <= start_ns + ONE_TURN_NS) {
            return grace_before(i);
        }
    }
    return 0;
}

uint64_t timeline::longest_grace_ns() const
{
    uint64_t longest = 0;
    for (size_t i = 0; i < events_.size(); i++) {
        longest = std::max(longest, is_failure(events_[i]) ? grace_before(i) : 0);
    }
    return longest;
}

uint64_t timeline::grace_before(size_t failure) const
{
    const rail_event &given_up = events_[failure];
    for (size_t i = failure; given_up.from == UFX_UCP_RAIL_SUSPECT && i-- > 0;) {
        if (events_[i].index == given_up.index && events_[i].to == UFX_UCP_RAIL_SUSPECT) {
            const uint64_t grace = given_up.time_ns - events_[i].time_ns;
            return grace > ONE_TURN_NS ? grace : 0; // a hard sign came with the soft one
        }
    }
    return 0;
}

ufx_ucp_rail_state_t timeline::after_suspicion(unsigned rail, uint64_t from_ns) const
{
    ufx_ucp_rail_state_t state = UFX_UCP_RAIL_UP;
    for (const rail_event &one : events_) {
        if (one.index == rail && one.time_ns >= from_ns) {
            state = one.to;
            if (state != UFX_UCP_RAIL_SUSPECT) {
                break;
            }
        }
    }
    return state;
}

} // namespace ufx::tools::failover
