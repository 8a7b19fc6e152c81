// SPDX-License-Identifier: BSD-3-Clause
// timeline: what happened when: bytes, rail events, faults, failovers.
#ifndef UFX_TOOLS_FAILOVER_TIMELINE_H
#define UFX_TOOLS_FAILOVER_TIMELINE_H

#include "tools/common/ucp_session.h"
#include "tools/failover/schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ufx::tools::failover {

struct applied_fault {
    uint64_t at_ns = 0; ///< monotonic
    fault_action action = fault_action::DOWN;
    unsigned rail = 0;
    std::string text; ///< how it was done
};

struct sample {
    uint64_t at_ns = 0;
    uint64_t bytes = 0;               ///< payload delivered since the start
    std::vector<uint64_t> rail_bytes; ///< sent by each rail
};

/** Time in which a rail was broken; `end_ns` is the end of the run if it never came back. */
struct outage {
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    unsigned rail = 0;
    bool ended = false;
    uint64_t next_ns = UINT64_MAX; ///< begin of the rail's next one: until then this one may show
};

class timeline {
public:
    void start(uint64_t now, const std::vector<ufx_ucp_rail_attr_t> &rails);
    void finish(uint64_t now) { end_ns_ = now; }

    void add(const applied_fault &one) { faults_.push_back(one); }
    void add(const rail_event &one) { events_.push_back(one); }
    void add(uint64_t now, uint64_t bytes, const std::vector<ufx_ucp_rail_attr_t> &rails);

    /** Notes a failover when the counters say that there was a new one. */
    void add(const ufx_ucp_failover_stats_t &stats);

    uint64_t start_ns() const noexcept { return start_ns_; }
    uint64_t end_ns() const noexcept { return end_ns_; }
    const std::vector<std::string> &rails() const noexcept { return rails_; }
    const std::vector<sample> &samples() const noexcept { return samples_; }
    const std::vector<rail_event> &events() const noexcept { return events_; }
    const std::vector<applied_fault> &faults() const noexcept { return faults_; }
    const std::vector<ufx_ucp_failover_stats_t> &failovers() const noexcept { return failovers_; }

    /** Seconds since the start. */
    double seconds(uint64_t at_ns) const;

    /** Payload delivered until then. */
    double bytes_at(uint64_t at_ns) const;

    /** Bytes that a rail had sent by then. */
    double rail_bytes_at(unsigned rail, uint64_t at_ns) const;

    /** MB/s (2^20) of payload between two times; 0 if there is no time between them. */
    double mbps(uint64_t from_ns, uint64_t to_ns) const;

    /** "rail1 (eth1)", or "rail1" if the device has that name. */
    std::string rail_label(unsigned rail) const;

    /** How often it failed; to be taken out of service is no failure. */
    uint64_t failures(unsigned rail) const;

    /**
     * Of a failover that began then: how long its rail was SUSPECT here, given time to come back;
     * 0 if not at all. The peer's grace may have ended first, or may have been the only one.
     */
    uint64_t grace_ns(uint64_t start_ns) const;

    /** The longest of all. */
    uint64_t longest_grace_ns() const;

    /** State to which a rail went from SUSPECT, once it left UP after `from_ns`. */
    ufx_ucp_rail_state_t after_suspicion(unsigned rail, uint64_t from_ns) const;

    /** Outages by the schedule, or, if there was none, by what the rails said. By begin. */
    std::vector<outage> outages() const;

    /** First event that took a rail out of UP within a span; NULL if none did. */
    const rail_event *left_up(unsigned rail, uint64_t from_ns, uint64_t to_ns) const;

private:
    uint64_t grace_before(size_t failure) const;
    template <class Get>
    double interpolate(uint64_t at_ns, Get get) const;

    uint64_t start_ns_ = 0;
    uint64_t end_ns_ = 0;
    std::vector<std::string> rails_;
    std::vector<uint64_t> rail_base_;
    std::vector<sample> samples_;
    std::vector<rail_event> events_;
    std::vector<applied_fault> faults_;
    std::vector<ufx_ucp_failover_stats_t> failovers_;
};

} // namespace ufx::tools::failover

#endif
