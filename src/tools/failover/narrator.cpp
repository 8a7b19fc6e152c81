// SPDX-License-Identifier: BSD-3-Clause
// Commentary of a run.
#include "tools/failover/narrator.h"

#include "tools/common/units.h"

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <string>
#include <ufx/ucs.h>

namespace ufx::tools::failover {

namespace {

constexpr uint64_t BEAT_NS = 200000000;

constexpr const char *PEER_TIMEOUT = "UFX_PEER_TIMEOUT";

/** Its value in effect, as text. */
std::string peer_timeout()
{
    std::string value;
    ufx_ucs_config_iterate(
        [](void *to, const char *, const ufx_ucs_config_row_t *row, const char *text,
           ufx_ucs_config_source_t) {
            if (std::strcmp(row->name, PEER_TIMEOUT) == 0) {
                *static_cast<std::string *>(to) = text;
            }
        },
        &value);
    return value;
}

} // namespace

void narrator::say(const char *format, ...)
{
    if (out_ == nullptr) {
        return;
    }
    va_list args;
    va_start(args, format);
    std::vfprintf(out_, format, args);
    va_end(args);
    std::fflush(out_);
}

void narrator::tick(uint64_t now, const std::vector<ufx_ucp_rail_attr_t> &rails, size_t in_flight)
{
    tell_faults();
    watch(now, rails);
    if (last_ns_ == 0) {
        last_ns_ = now;
    }
    if (now - last_ns_ < BEAT_NS || out_ == nullptr) {
        return;
    }
    const double seconds = static_cast<double>(now - last_ns_) / 1e9;
    std::fprintf(out_, "%7.2f s ", story_.seconds(now));
    for (unsigned i = 0; i < rails.size() && i < story_.rails().size(); i++) {
        const double sent = story_.rail_bytes_at(i, now) - story_.rail_bytes_at(i, last_ns_);
        std::fprintf(out_, "  rail%u %8.1f MB/s %-8s", i, sent / MIB / seconds,
                     rail_state_name(rails[i]));
    }
    std::fprintf(out_, "  delivered %8.1f MB/s, %zu in flight\n", story_.mbps(last_ns_, now),
                 in_flight);
    std::fflush(out_);
    last_ns_ = now;
}

void narrator::watch(uint64_t now, const std::vector<ufx_ucp_rail_attr_t> &rails)
{
    tell_events();
    tell_whether_all_are_down(now, rails);
}

/** Nothing moves until one is back: whoever watches wants to know for how long. */
void narrator::tell_whether_all_are_down(uint64_t now,
                                         const std::vector<ufx_ucp_rail_attr_t> &rails)
{
    const bool all = std::none_of(rails.begin(), rails.end(), [](const ufx_ucp_rail_attr_t &rail) {
        return rail.state == UFX_UCP_RAIL_UP;
    });
    if (all && !all_down_) {
        say("%7.3f s   all rails are down: waiting for one to come back; the peer is given up when "
            "it was silent for %s=%s\n",
            story_.seconds(now), PEER_TIMEOUT, peer_timeout().c_str());
    }
    all_down_ = all;
}

void narrator::tell_faults()
{
    for (; faults_ < story_.faults().size(); faults_++) {
        const applied_fault &one = story_.faults()[faults_];
        say("%7.3f s   *** fault: %s\n", story_.seconds(one.at_ns), one.text.c_str());
    }
}

void narrator::tell_events()
{
    for (; events_ < story_.events().size(); events_++) {
        const rail_event &one = story_.events()[events_];
        say("%7.3f s   %s %s -> %s: %s\n", story_.seconds(one.time_ns),
            story_.rail_label(one.index).c_str(), rail_state_name(one.from),
            rail_state_name(one.to), one.cause.c_str());
    }
}

} // namespace ufx::tools::failover
