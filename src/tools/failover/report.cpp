// SPDX-License-Identifier: BSD-3-Clause
// Numbers and verdict of a run.
#include "tools/failover/report.h"

#include "tools/common/units.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ufx::tools::failover {

namespace {

using json = nlohmann::ordered_json;

// The first part of a run, in which windows and schedulers settle, is not part of "before".
constexpr uint64_t SETTLE_NS = 200000000;

struct phases {
    double before = 0, during = 0, after = 0;
};

struct latencies {
    uint64_t detect = 0, seal = 0, replay = 0, resume = 0;
};

phases measure_phases(const timeline &story, const std::vector<outage> &outages)
{
    phases result;
    const uint64_t end = story.end_ns();
    const uint64_t first = outages.empty() ? end : outages.front().begin_ns;
    const uint64_t settled =
        std::min(story.start_ns() + SETTLE_NS, story.start_ns() + (first - story.start_ns()) / 5);
    result.before = story.mbps(settled, first);
    double bytes = 0, seconds = 0;
    uint64_t last = 0;
    bool open = false;
    for (const outage &one : outages) {
        const uint64_t begin = std::max(one.begin_ns, last); // outages of two rails may overlap
        if (one.end_ns > begin) {
            bytes += story.bytes_at(one.end_ns) - story.bytes_at(begin);
            seconds += static_cast<double>(one.end_ns - begin) / 1e9;
        }
        last = std::max(last, one.end_ns);
        open = open || !one.ended;
    }
    result.during = seconds > 0 ? bytes / MIB / seconds : 0;
    result.after = outages.empty() || open ? 0 : story.mbps(last, end);
    return result;
}

/** From the fault to the seal, if a fault of ours came before it; else what the library says. */
uint64_t detection(const timeline &story, const ufx_ucp_failover_stats_t &one)
{
    uint64_t since = 0;
    for (const applied_fault &fault : story.faults()) {
        if (breaks(fault.action) && fault.at_ns <= one.last_start_ns) {
            since = fault.at_ns;
        }
    }
    return since != 0 ? one.last_start_ns - since : one.detect_ns;
}

latencies worst(const timeline &story)
{
    latencies result;
    for (const ufx_ucp_failover_stats_t &one : story.failovers()) {
        result.detect = std::max(result.detect, detection(story, one));
        result.seal = std::max(result.seal, one.seal_ns);
        result.replay = std::max(result.replay, one.replay_ns);
        result.resume = std::max(result.resume, one.resume_ns);
    }
    return result;
}

json rails_of(const outcome &run, const std::vector<outage> &outages)
{
    const timeline &story = *run.story;
    const uint64_t end = story.end_ns();
    uint64_t healed = 0;
    for (const outage &one : outages) {
        healed = std::max(healed, one.ended ? one.end_ns : 0);
    }
    double total = 0, total_after = 0;
    for (unsigned i = 0; i < story.rails().size(); i++) {
        total += story.rail_bytes_at(i, end);
        total_after += story.rail_bytes_at(i, end) - story.rail_bytes_at(i, healed);
    }
    json list = json::array();
    for (unsigned i = 0; i < story.rails().size() && i < run.rails.size(); i++) {
        const ufx_ucp_rail_attr_t &rail = run.rails[i];
        const double bytes = story.rail_bytes_at(i, end);
        const double after = healed == 0 ? 0 : bytes - story.rail_bytes_at(i, healed);
        list.push_back(
            {{"name", rail.name},
             {"transport", rail.transport},
             {"state", rail_state_name(rail.state)},
             {"bytes", static_cast<uint64_t>(bytes)},
             {"share", total > 0 ? bytes / total : 0},
             {"bytes_after_up", static_cast<uint64_t>(after)},
             {"share_after_up", healed != 0 && total_after > 0 ? after / total_after : 0},
             {"failures", rail.failures},
             {"recoveries", rail.recoveries}});
    }
    return list;
}

json outages_of(const timeline &story, const std::vector<outage> &outages)
{
    json list = json::array();
    for (const outage &one : outages) {
        const rail_event *noticed = story.left_up(one.rail, one.begin_ns, one.end_ns);
        list.push_back(
            {{"rail", one.rail},
             {"begin_s", story.seconds(one.begin_ns)},
             {"end_s", story.seconds(one.end_ns)},
             {"ended", one.ended},
             {"mbps", story.mbps(one.begin_ns, one.end_ns)},
             {"noticed_us",
              noticed == nullptr ? json(nullptr) : json((noticed->time_ns - one.begin_ns) / 1000)},
             {"noticed_by", noticed == nullptr ? "" : noticed->cause}});
    }
    return list;
}

json failovers_of(const timeline &story)
{
    json list = json::array();
    for (const ufx_ucp_failover_stats_t &one : story.failovers()) {
        list.push_back({{"at_s", story.seconds(one.last_start_ns)},
                        {"detect_us", detection(story, one) / 1000},
                        {"seal_us", one.seal_ns / 1000},
                        {"replay_us", one.replay_ns / 1000},
                        {"resume_us", one.resume_ns / 1000}});
    }
    return list;
}

json receiver_of(const fields &received)
{
    json object = json::object();
    for (const char *name : {"chunks", "bytes", "ops_frozen", "ops_landed", "ops_replayed"}) {
        object[name] = received.number(name);
    }
    return object;
}

json reasons_of(const outcome &run, const std::vector<outage> &outages)
{
    json reasons = json::array();
    for (const char *bad : {"lost", "duplicated", "corrupted", "misordered"}) {
        const uint64_t count = run.received.number(bad);
        if (count != 0) {
            reasons.push_back(std::to_string(count) + " chunks " + bad);
        }
    }
    if (!run.received.flag("file_right")) {
        reasons.push_back("the receiver's file is not the sender's");
    }
    if (run.wanted->faults.empty()) {
        return reasons;
    }
    for (const outage &one : outages) {
        if (run.story->left_up(one.rail, one.begin_ns, one.end_ns) == nullptr) {
            reasons.push_back("rail" + std::to_string(one.rail) + " was not hit by its fault at " +
                              std::to_string(run.story->seconds(one.begin_ns)) + " s");
        }
    }
    if (outages.empty()) {
        reasons.push_back("the schedule breaks no rail");
    } else if (run.stats.frozen == 0) {
        reasons.push_back("the fault hit no traffic: nothing was frozen");
    } else if (run.stats.switches == 0) {
        reasons.push_back("no traffic was switched to another lane: no other rail was up");
    }
    return reasons;
}

std::string line(const char *format, ...) __attribute__((format(printf, 1, 2)));

std::string line(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return text;
}

unsigned long long number(const json &report, const char *name)
{
    return report.at(name).get<uint64_t>();
}

json build(const outcome &run)
{
    const timeline &story = *run.story;
    const std::vector<outage> outages = story.outages();
    const phases rates = measure_phases(story, outages);
    const latencies times = worst(story);
    const json reasons = reasons_of(run, outages);
    return {{"verdict", reasons.empty() ? "ok" : "failed"},
            {"reasons", reasons},
            {"lost", run.received.number("lost")},
            {"duplicated", run.received.number("duplicated")},
            {"corrupted", run.received.number("corrupted")},
            {"misordered", run.received.number("misordered")},
            {"ops_frozen", run.stats.frozen},
            {"ops_landed", run.stats.landed},
            {"ops_partial", run.stats.partial},
            {"ops_replayed", run.stats.replayed},
            {"switches", run.stats.switches},
            {"detect_us", times.detect / 1000},
            {"seal_us", times.seal / 1000},
            {"replay_us", times.replay / 1000},
            {"resume_us", times.resume / 1000},
            {"longest_silence_us", run.longest_silence_ns / 1000},
            {"mbps_before", rates.before},
            {"mbps_during", rates.during},
            {"mbps_after", rates.after},
            {"seconds", story.seconds(story.end_ns())},
            {"chunks", run.chunks},
            {"bytes", run.bytes},
            {"network", run.network},
            {"input", run.wanted->input},
            {"output", run.received.text("output")},
            {"rails", rails_of(run, outages)},
            {"outages", outages_of(story, outages)},
            {"failovers", failovers_of(story)},
            {"receiver", receiver_of(run.received)}};
}

std::string show(const json &report)
{
    std::string text = "\n";
    text +=
        line("sent       %llu chunks, %s in %.1f s over %s\n", number(report, "chunks"),
             show_size(report.at("bytes").get<double>()).c_str(),
             report.at("seconds").get<double>(), report.at("network").get<std::string>().c_str());
    text += line("arrived    lost %llu   duplicated %llu   corrupted %llu   misordered %llu\n",
                 number(report, "lost"), number(report, "duplicated"), number(report, "corrupted"),
                 number(report, "misordered"));
    text += line("failover   fragments frozen %llu   found landed %llu   resumed in their middle "
                 "%llu   replayed %llu\n",
                 number(report, "ops_frozen"), number(report, "ops_landed"),
                 number(report, "ops_partial"), number(report, "ops_replayed"));
    text +=
        line("times      detect %.1f ms   seal %.1f ms   replay %.1f ms   resume %.1f ms   "
             "longest silence %.1f ms\n",
             report.at("detect_us").get<double>() / 1e3, report.at("seal_us").get<double>() / 1e3,
             report.at("replay_us").get<double>() / 1e3, report.at("resume_us").get<double>() / 1e3,
             report.at("longest_silence_us").get<double>() / 1e3);
    text += line("MB/s       before %.1f   during the outage %.1f   after %.1f\n",
                 report.at("mbps_before").get<double>(), report.at("mbps_during").get<double>(),
                 report.at("mbps_after").get<double>());
    for (const json &rail : report.at("rails")) {
        text += line(
            "%-10s %s, %s (%.0f %%), after it came up %.0f %%, failed %llu, back %llu\n",
            rail.at("name").get<std::string>().c_str(), rail.at("state").get<std::string>().c_str(),
            show_size(rail.at("bytes").get<double>()).c_str(), 100 * rail.at("share").get<double>(),
            100 * rail.at("share_after_up").get<double>(), number(rail, "failures"),
            number(rail, "recoveries"));
    }
    if (report.at("reasons").empty()) {
        text +=
            "verdict    OK: nothing lost, nothing doubled, nothing corrupted; the file is whole\n";
    }
    for (const json &reason : report.at("reasons")) {
        text += "verdict    FAILED: " + reason.get<std::string>() + "\n";
    }
    return text;
}

} // namespace

report make_report(const outcome &run)
{
    const json built = build(run);
    return {built.dump(2) + "\n", show(built), built.at("reasons").empty()};
}

} // namespace ufx::tools::failover
