// SPDX-License-Identifier: BSD-3-Clause
// Numbers and verdict of a run.
#include "tools/failover/report.h"

#include "tools/common/units.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

namespace ufx::tools::failover {

namespace {

using json = nlohmann::ordered_json;

// The first part of a run, in which windows and schedulers settle, is not part of "before".
constexpr uint64_t SETTLE_NS = 200000000;

/** MB/s; none where there was no such time. */
struct phases {
    std::optional<double> before, during, after;
};

/** The longest of each; 0: there was none. */
struct latencies {
    uint64_t detect = 0, grace = 0, seal = 0, replay = 0, resume = 0;
};

phases measure_phases(const timeline &story, const std::vector<outage> &outages)
{
    phases result;
    const uint64_t end = story.end_ns();
    const uint64_t first = outages.empty() ? end : outages.front().begin_ns;
    const uint64_t settled =
        std::min(story.start_ns() + SETTLE_NS, story.start_ns() + (first - story.start_ns()) / 5);
    if (first > settled) {
        result.before = story.mbps(settled, first);
    }
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
    if (seconds > 0) {
        result.during = bytes / MIB / seconds;
    }
    if (!outages.empty() && !open && end > last) {
        result.after = story.mbps(last, end);
    }
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
        const uint64_t detect = detection(story, one);
        if (detect > result.detect) {
            result.detect = detect;
            result.grace = story.grace_ns(one.last_start_ns);
        }
        result.seal = std::max(result.seal, one.seal_ns);
        result.replay = std::max(result.replay, one.replay_ns);
        result.resume = std::max(result.resume, one.resume_ns);
    }
    return result;
}

/** When a rail came back for the last time; 0 if it was never lost, or is lost. */
uint64_t healed_ns(const std::vector<outage> &outages, unsigned rail)
{
    uint64_t healed = 0;
    for (const outage &one : outages) {
        if (one.rail == rail) {
            healed = one.ended ? one.end_ns : 0;
        }
    }
    return healed;
}

json rails_of(const outcome &run, const std::vector<outage> &outages)
{
    const timeline &story = *run.story;
    const uint64_t end = story.end_ns();
    const auto sent = [&](unsigned rail, uint64_t since) {
        return story.rail_bytes_at(rail, end) - story.rail_bytes_at(rail, since);
    };
    const auto share = [&](unsigned rail, uint64_t since) {
        double total = 0;
        for (unsigned i = 0; i < story.rails().size(); i++) {
            total += sent(i, since);
        }
        return total > 0 ? json(sent(rail, since) / total) : json(nullptr);
    };
    json list = json::array();
    for (unsigned i = 0; i < story.rails().size() && i < run.rails.size(); i++) {
        const ufx_ucp_rail_attr_t &rail = run.rails[i];
        const uint64_t healed = healed_ns(outages, i);
        list.push_back(
            {{"name", rail.name},
             {"transport", rail.transport},
             {"state", story.state_name(i, rail.state)},
             {"bytes", static_cast<uint64_t>(sent(i, 0))},
             {"share", share(i, 0)},
             {"bytes_after_up",
              healed == 0 ? json(nullptr) : json(static_cast<uint64_t>(sent(i, healed)))},
             {"share_after_up", healed == 0 ? json(nullptr) : share(i, healed)},
             {"failures", story.failures(i)},
             {"recoveries", rail.recoveries}});
    }
    return list;
}

/** Microseconds; null for 0, which is no time but that there was none. */
json microseconds(uint64_t ns)
{
    return ns == 0 ? json(nullptr) : json(static_cast<double>(ns / 100) / 10);
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
                        {"detect_us", microseconds(detection(story, one))},
                        {"grace_us", microseconds(story.grace_ns(one.last_start_ns))},
                        {"seal_us", microseconds(one.seal_ns)},
                        {"replay_us", microseconds(one.replay_ns)},
                        {"resume_us", microseconds(one.resume_ns)}});
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
    const tamper how = run.wanted->broken;
    const char *const shows[] = {"", "duplicated", "lost", "corrupted"};
    if (how != tamper::NONE && run.received.number(shows[static_cast<size_t>(how)]) == 0) {
        reasons.push_back(std::string("--break=") + tamper_name(how) + ", and no chunk was " +
                          shows[static_cast<size_t>(how)]);
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

json rate(const std::optional<double> &mbps)
{
    return mbps ? json(*mbps) : json(nullptr);
}

json build(const outcome &run)
{
    const timeline &story = *run.story;
    const std::vector<outage> outages = story.outages();
    const phases rates = measure_phases(story, outages);
    const latencies times = worst(story);
    const json reasons = reasons_of(run, outages);
    const std::string tampering = tamper_name(run.wanted->broken);
    return {{"verdict", reasons.empty() ? "ok" : "failed"},
            {"reasons", reasons},
            {"break", tampering.empty() ? json(nullptr) : json(tampering)},
            {"lost", run.received.number("lost")},
            {"duplicated", run.received.number("duplicated")},
            {"corrupted", run.received.number("corrupted")},
            {"misordered", run.received.number("misordered")},
            {"ops_frozen", run.stats.frozen},
            {"ops_landed", run.stats.landed},
            {"ops_partial", run.stats.partial},
            {"ops_replayed", run.stats.replayed},
            {"switches", run.stats.switches},
            {"detect_us", microseconds(times.detect)},
            {"grace_us", microseconds(times.grace)},
            {"seal_us", microseconds(times.seal)},
            {"replay_us", microseconds(times.replay)},
            {"resume_us", microseconds(times.resume)},
            {"longest_silence_us", microseconds(run.longest_silence_ns)},
            {"mbps_before", rate(rates.before)},
            {"mbps_during", rate(rates.during)},
            {"mbps_after", rate(rates.after)},
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

/** With "-" where there is none. */
std::string figure(const json &value, double unit)
{
    return value.is_null() ? "-" : line("%.1f", value.get<double>() / unit);
}

std::string milliseconds(const json &us)
{
    return us.is_null() ? "-" : line(us < 100 ? "%.3f ms" : "%.1f ms", us.get<double>() / 1e3);
}

std::string show_rail(const json &rail, const std::string &label)
{
    std::string text =
        line("%-10s %s, %s", label.c_str(), rail.at("state").get<std::string>().c_str(),
             show_size(rail.at("bytes").get<double>()).c_str());
    if (!rail.at("share").is_null()) {
        text += " (" + figure(rail.at("share"), 0.01) + " %)";
    }
    if (!rail.at("share_after_up").is_null()) {
        text += ", since it came back " + figure(rail.at("share_after_up"), 0.01) + " %";
    }
    return text +
           line(", failed %llu, back %llu\n", number(rail, "failures"), number(rail, "recoveries"));
}

std::string show(const json &report, const timeline &story)
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
    text += "times      detect " + milliseconds(report.at("detect_us"));
    if (!report.at("grace_us").is_null()) {
        text += " (" + milliseconds(report.at("grace_us")) + " of it grace, UFX_RAIL_GRACE)";
    }
    for (const char *name : {"seal", "replay", "resume"}) {
        text +=
            std::string("   ") + name + ' ' + milliseconds(report.at(name + std::string("_us")));
    }
    text += "   longest silence " + milliseconds(report.at("longest_silence_us")) + '\n';
    text += "MB/s       before " + figure(report.at("mbps_before"), 1) + "   during the outage " +
            figure(report.at("mbps_during"), 1) + "   after " + figure(report.at("mbps_after"), 1) +
            '\n';
    unsigned index = 0;
    for (const json &rail : report.at("rails")) {
        text += show_rail(rail, story.rail_label(index++));
    }
    if (report.at("reasons").empty()) {
        text +=
            "verdict    OK: nothing lost, nothing doubled, nothing corrupted; the file is whole\n";
    }
    for (const json &reason : report.at("reasons")) {
        text += "verdict    FAILED: " + reason.get<std::string>() + "\n";
    }
    if (!report.at("break").is_null()) {
        text += "           --break=" + report.at("break").get<std::string>() +
                " tampered with the data, as was asked for: this is what must show\n";
    }
    return text;
}

} // namespace

report make_report(const outcome &run)
{
    const json built = build(run);
    return {built.dump(2) + "\n", show(built, *run.story), built.at("reasons").empty()};
}

} // namespace ufx::tools::failover
