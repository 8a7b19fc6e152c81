// SPDX-License-Identifier: BSD-3-Clause
// Numbers and verdict of a run.
#include "tools/failover/report.h"

#include "tools/common/units.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
             {"state", rail_state_name(rail)},
             {"cause", rail.cause != nullptr ? rail.cause : ""},
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
        const rail_event *noticed = story.left_up(one.rail, one.begin_ns, one.next_ns);
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
    object["grace_us"] = microseconds(received.number("grace_ns"));
    return object;
}

/** What is wrong with the data. */
std::vector<std::string> damage(const outcome &run)
{
    std::vector<std::string> reasons;
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
    return reasons;
}

/** Why a run shows no failover though its schedule asked for one, and how to see one. */
struct miss {
    std::string reason, advice;
};

constexpr const char *MORE_TRAFFIC = "cut the rail while it carries traffic: a longer --seconds, a "
                                     "later fault, more --outstanding";
constexpr const char *LONGER_OUTAGE =
    "keep the rail down for longer than UFX_RAIL_GRACE, or set that lower";
constexpr const char *ANOTHER_RAIL = "leave a rail up while another one is down";

/** True if no other rail was whole all through it. */
bool took_all(const timeline &story, const std::vector<outage> &outages, const outage &one)
{
    std::set<unsigned> broken;
    for (const outage &other : outages) {
        if (other.begin_ns <= one.end_ns && other.end_ns >= one.begin_ns) {
            broken.insert(other.rail);
        }
    }
    return broken.size() == story.rails().size();
}

/** Of an outage that was noticed, in a run in which nothing was frozen. */
miss harmless(const timeline &story, const std::vector<outage> &outages, const outage &one)
{
    const std::string fault =
        story.rail_label(one.rail) + line(": its fault at %.3f s ", story.seconds(one.begin_ns));
    switch (story.after_suspicion(one.rail, one.begin_ns)) {
    case UFX_UCP_RAIL_UP:
        return {fault + "was over within the grace: what was on its way waited, and no lane was given up",
                took_all(story, outages, one) ? ANOTHER_RAIL : LONGER_OUTAGE};
    case UFX_UCP_RAIL_SUSPECT:
        return {fault + "came too late: the transfer was over within the grace", MORE_TRAFFIC};
    default:
        return {fault + "led to no switch: when it was given up, nothing was on its way over it",
                MORE_TRAFFIC};
    }
}

std::optional<miss> missed_failover(const outcome &run, const std::vector<outage> &outages)
{
    const timeline &story = *run.story;
    if (run.wanted->faults.empty()) {
        return std::nullopt;
    }
    if (story.faults().size() < run.wanted->faults.size()) {
        return miss{"the transfer was over before the last fault", MORE_TRAFFIC};
    }
    for (const outage &one : outages) {
        if (story.left_up(one.rail, one.begin_ns, one.next_ns) == nullptr) {
            return miss{story.rail_label(one.rail) + line(" did not notice its fault at %.3f s",
                                                          story.seconds(one.begin_ns)),
                        "break it for longer, while it carries traffic"};
        }
    }
    if (run.stats.switches != 0) {
        return std::nullopt;
    }
    if (run.stats.frozen != 0 || outages.empty()) {
        return miss{"no traffic went over to another rail: none was up", ANOTHER_RAIL};
    }
    return harmless(story, outages, outages.front());
}

unsigned long long number(const json &report, const char *name)
{
    return report.at(name).get<uint64_t>();
}

const char *verdict_name(verdict judged)
{
    static constexpr const char *NAMES[] = {"ok", "failed", "inconclusive"};
    return NAMES[static_cast<size_t>(judged)];
}

/** Bad data wins over all that was not seen. */
json judge(const outcome &run, const std::vector<outage> &outages)
{
    const std::vector<std::string> bad = damage(run);
    const std::optional<miss> missing = bad.empty() ? missed_failover(run, outages) : std::nullopt;
    const verdict judged = !bad.empty() ? verdict::FAILED
                           : missing    ? verdict::INCONCLUSIVE
                                        : verdict::OK;
    return {{"verdict", verdict_name(judged)},
            {"reasons", missing ? json::array({missing->reason}) : json(bad)},
            {"advice", missing ? json(missing->advice) : json(nullptr)}};
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
    const std::string tampering = tamper_name(run.wanted->broken);
    json report = judge(run, outages);
    report.update(json{{"break", tampering.empty() ? json(nullptr) : json(tampering)},
                       {"lost", run.received.number("lost")},
                       {"duplicated", run.received.number("duplicated")},
                       {"corrupted", run.received.number("corrupted")},
                       {"misordered", run.received.number("misordered")},
                       {"ops_frozen", run.stats.frozen},
                       {"ops_landed", run.stats.landed},
                       {"ops_partial", run.stats.partial},
                       {"ops_replayed", run.stats.replayed},
                       {"switches", run.stats.switches},
                       {"faults_scheduled", run.wanted->faults.size()},
                       {"faults_applied", story.faults().size()},
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
                       {"receiver", receiver_of(run.received)}});
    return report;
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

/** With the cause, unless it serves. */
std::string show_state(const json &rail)
{
    const auto state = rail.at("state").get<std::string>();
    return state == "UP" ? state : state + " (" + rail.at("cause").get<std::string>() + ")";
}

std::string show_rail(const json &rail, const std::string &label)
{
    std::string text = line("%-10s %s, %s", label.c_str(), show_state(rail).c_str(),
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

/** Of the end that gave the rail time to come back, which may be the receiver alone. */
std::string show_grace(const json &report)
{
    const json &here = report.at("grace_us"), &there = report.at("receiver").at("grace_us");
    if (!here.is_null()) {
        return " (" + milliseconds(here) + " of it grace, UFX_RAIL_GRACE)";
    }
    return there.is_null() || report.at("detect_us").is_null()
               ? ""
               : " (of it the receiver's grace, " + milliseconds(there) + ", UFX_RAIL_GRACE)";
}

std::string show_verdict(const json &report)
{
    if (report.at("reasons").empty()) {
        return "verdict    OK: nothing lost, nothing doubled, nothing corrupted; the file is "
               "whole\n";
    }
    const bool failed = report.at("advice").is_null();
    std::string text;
    for (const json &reason : report.at("reasons")) {
        text += std::string("verdict    ") + (failed ? "FAILED: " : "INCONCLUSIVE: ") +
                reason.get<std::string>() + "\n";
    }
    if (!failed) {
        text += "           nothing was lost, doubled or corrupted, but no failover was shown; to "
                "see one,\n           " +
                report.at("advice").get<std::string>() + "\n";
    }
    return text;
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
    text += show_grace(report);
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
    text += show_verdict(report);
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
    const verdict judged = !built.at("advice").is_null() ? verdict::INCONCLUSIVE
                           : built.at("reasons").empty() ? verdict::OK
                                                         : verdict::FAILED;
    // Names of files may be any bytes; JSON is UTF-8.
    return {built.dump(2, ' ', false, json::error_handler_t::replace) + "\n",
            show(built, *run.story), judged};
}

} // namespace ufx::tools::failover
