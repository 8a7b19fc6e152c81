// SPDX-License-Identifier: BSD-3-Clause
// The parts of `ufx_perftest failover` that need no network.
#include <catch2/catch.hpp>

#include "tools/common/crc32.h"
#include "tools/common/error.h"
#include "tools/common/units.h"
#include "tools/failover/hca_faults.h"
#include "tools/failover/inspector.h"
#include "tools/failover/narrator.h"
#include "tools/failover/options.h"
#include "tools/failover/plot.h"
#include "tools/failover/report.h"
#include "tools/failover/schedule.h"
#include "tools/failover/timeline.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace ufx::tools;
using namespace ufx::tools::failover;

namespace {

constexpr uint64_t SECOND = 1000000000;
constexpr uint64_t START = 5 * SECOND;

options parse(std::vector<std::string> words)
{
    words.insert(words.begin(), "failover");
    std::vector<char *> argv;
    for (std::string &word : words) {
        argv.push_back(word.data());
    }
    return parse_options(static_cast<int>(argv.size()), argv.data());
}

std::vector<ufx_ucp_rail_attr_t> two_rails(uint64_t first, uint64_t second)
{
    std::vector<ufx_ucp_rail_attr_t> rails(2);
    for (unsigned i = 0; i < 2; i++) {
        rails[i] = {};
        std::strcpy(rails[i].name, i == 0 ? "rail0" : "rail1");
        std::strcpy(rails[i].transport, "tcp");
        rails[i].tx_bytes = i == 0 ? first : second;
    }
    return rails;
}

/** 6 s: both rails send 12.5 MiB/s, but rail1 is down from 2 s to 4 s. */
timeline story()
{
    const auto mib = static_cast<uint64_t>(MIB);
    timeline t;
    t.start(START, two_rails(0, 0));
    uint64_t first = 0, second = 0;
    for (uint64_t ms = 10; ms <= 6000; ms += 10) {
        first += mib / 8;
        second += ms > 2000 && ms <= 4000 ? 0 : mib / 8;
        t.add(START + ms * 1000000, first + second, two_rails(first, second));
    }
    return t;
}

applied_fault at(uint64_t seconds, fault_action action)
{
    return {START + seconds * SECOND, action, 1, "by the test"};
}

rail_event change(uint64_t ms, ufx_ucp_rail_state_t from, ufx_ucp_rail_state_t to)
{
    return {"rail1", 1, from, to, "link down", START + ms * 1000000};
}

rail_event change(uint64_t ms, ufx_ucp_rail_state_t from, ufx_ucp_rail_state_t to,
                  const std::string &cause)
{
    rail_event one = change(ms, from, to);
    one.cause = cause;
    return one;
}

outcome clean_run(const options &wanted, const timeline &t)
{
    outcome run;
    run.wanted = &wanted;
    run.story = &t;
    run.received = {{"lost", 0u},         {"duplicated", 0u},   {"corrupted", 0u},
                    {"misordered", 0u},   {"chunks", 10u},      {"bytes", 10u},
                    {"file_right", true}, {"output", "out"},    {"ops_frozen", 0u},
                    {"ops_landed", 0u},   {"ops_replayed", 0u}, {"grace_ns", 0u}};
    run.stats.frozen = 7;
    run.stats.replayed = 5;
    run.stats.landed = 2;
    run.stats.switches = 1;
    run.rails = two_rails(0, 0);
    return run;
}

chunk_header chunk(const geometry &shape, uint64_t seq, const std::string &payload)
{
    chunk_header header;
    header.seq = seq;
    header.offset = shape.offset(seq);
    header.length = shape.length(seq);
    header.crc = crc32(payload.data(), payload.size());
    return header;
}

} // namespace

TEST_CASE("failover: schedules are read, sorted, and refused with the wrong word", "[tools]")
{
    const std::vector<fault> faults =
        parse_schedule("4s:up:rail1,1.5s:down:rail1,250ms:oneway:lo:127.0.0.2");
    REQUIRE(faults.size() == 3);
    CHECK(faults[0].at_ns == SECOND / 4);
    CHECK(faults[0].action == fault_action::ONEWAY);
    CHECK(faults[0].rail == "lo:127.0.0.2");
    CHECK(faults[1].at_ns == SECOND * 3 / 2);
    CHECK(faults[2].action == fault_action::UP);
    CHECK_FALSE(breaks(fault_action::HEAL));
    CHECK(breaks(fault_action::DELETE));
    CHECK_THROWS_WITH(parse_schedule("1s:down"), Catch::Contains("'1s:down'"));
    CHECK_THROWS_WITH(parse_schedule("1s:sideways:rail1"), Catch::Contains("'sideways'"));
    for (const char *wrong : {"", ",", "1:down:rail1", "s:down:rail1", "-1s:down:rail1",
                              "nans:down:rail1", "1e9s:down:rail1", "1s:down:"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(parse_schedule(wrong), tool_error);
    }
}

TEST_CASE("failover: rails of the software ConnectX are broken by its own rules", "[tools]")
{
    ufx_ucp_rail_attr_t rail{};
    std::strcpy(rail.name, "mlx5_1:1");
    std::strcpy(rail.transport, "rc_mlx5");
    CHECK(is_on_fabric("/dev/shm/lab", rail));
    CHECK_FALSE(is_on_fabric("", rail)); // not started by `ufx_swhca run`
    const auto rule = [&](const char *schedule) {
        return hca_command("/dev/shm/lab", parse_schedule(schedule)[0].action, rail.name).back();
    };
    CHECK(rule("1s:down:rail1") == "hca mlx5_1 port-down");
    CHECK(rule("1s:silent:rail1") == "hca mlx5_1 port-down silent");
    CHECK(rule("1s:up:rail1") == "hca mlx5_1 port-up");
    CHECK(rule("1s:del:rail1") == "hca mlx5_1 device-fatal");
    CHECK(rule("1s:reset:rail1") == "hca mlx5_1 device-reset");
    CHECK(rule("1s:oneway:rail1") == "hca mlx5_1 drop responses");
    CHECK(rule("1s:heal:rail1") == "clear");
    std::strcpy(rail.transport, "tcp");
    CHECK_FALSE(is_on_fabric("/dev/shm/lab", rail));
}

TEST_CASE("failover: options have sensible defaults and limits", "[tools]")
{
    const options o = parse({"--input", "a", "--output", "b", "--fault", "1s:down:rail1"});
    CHECK(o.seconds == 4);
    CHECK(o.chunk == 65536);
    CHECK(o.mix.size() == 3);
    CHECK(parse({"--input", "a", "--output", "b"}).seconds == 5);
    CHECK(parse({"--output", "b"}).input.empty());
    CHECK(parse({"--input", "a", "host"}).host == "host");
    const std::vector<std::vector<std::string>> wrong = {
        {"--nonsense"},
        {"--input", "a"},
        {"--input", "a", "--output", "a"},
        {"--input", "a", "--output", "b", "--seconds", "-1"},
        {"--input", "a", "--output", "b", "--seconds", "x"},
        {"--input", "a", "--output", "b", "--seconds", "1", "--fault", "1s:down:rail1"},
        {"--input", "a", "--output", "b", "--break", "it"},
        {"--input", "a", "--output", "b", "--mix", "put,tag"},
        {"--input", "a", "--output", "b", "--chunk", "1"},
        {"--input", "a", "--output", "b", "-O", "0"},
        {"--input", "a", "--output", "b", "--plot", "p.jpg"},
        {"--input", "a", "--output", "b", "-p", "70000"},
        {"--input", "a", "--output", "b", "--netns", "a/b"},
        {"--input", "a", "--output", "b", "-d", ""},
        {},
        {"--output", "b", "--fault", "1s:down:rail1"},
        {"--output", "b", "--json", "c"},
        {"--output", "b", "host"},
        {"--input", "a", "--output", "b", "host"},
        {"--input", "a", "--log", "b", "host"},
        {"--input", "a", "--rate", "1gbit", "host"},
        {"--input", "a", "--output", "b", "--rate", "bogus"},
        {"--input", "a", "--output", "b", "--rate", ""},
        {"--input", "a", "--output", "b", "--seconds", "5s"},
        {"--input", "a", "--output", "b", "--json", ""},
        {"--input", "a", "--output", "b", "-p", "1234"},
        {"--input", "a", "--output", "b", "--netns", "yes", "-d", "lo"},
        {"--output", "b", "-q"}};
    for (const auto &words : wrong) {
        CAPTURE(words);
        try {
            parse(words);
            FAIL("accepted");
        } catch (const tool_error &error) {
            CHECK(error.exit_status() == EXIT_USAGE);
        }
    }
}

TEST_CASE("failover: a chunk header survives, and no damaged one does", "[tools]")
{
    chunk_header header;
    header.kind = chunk_kind::LIST;
    header.seq = 0x0102030405060708;
    header.offset = 1 << 20;
    header.length = 4096;
    header.crc = 0xdeadbeef;
    header.order = 99;
    header.slot = 7;
    const chunk_bytes bytes = encode(header);
    const auto back = decode(bytes.data(), bytes.size());
    REQUIRE(back);
    CHECK(back->kind == chunk_kind::LIST);
    CHECK(back->seq == header.seq);
    CHECK(back->offset == header.offset);
    CHECK(back->order == 99);
    CHECK(back->slot == 7);
    for (size_t i = 0; i < bytes.size(); i++) {
        chunk_bytes wrong = bytes;
        wrong[i] ^= 0x40;
        CAPTURE(i);
        CHECK_FALSE(decode(wrong.data(), wrong.size()));
    }
    CHECK_FALSE(decode(bytes.data(), bytes.size() - 1));
}

TEST_CASE("failover: the inspector finds what is lost, doubled, corrupted, out of order", "[tools]")
{
    const geometry shape = {10, 4}; // chunks of 4, 4, 2 bytes
    CHECK(shape.chunks_per_pass() == 3);
    CHECK(shape.length(2) == 2);
    CHECK(shape.offset(5) == 8);
    inspector judge(shape);
    CHECK(judge.accept(chunk(shape, 0, "abcd"), "abcd"));
    CHECK(judge.accept(chunk(shape, 2, "ij"), "ij"));
    CHECK(judge.lost(3) == 1);
    CHECK(judge.accept(chunk(shape, 1, "efgh"), "efgh"));
    judge.in_order(0);
    judge.in_order(1);
    CHECK(judge.clean(3));
    CHECK_FALSE(judge.clean(4));

    CHECK_FALSE(judge.accept(chunk(shape, 1, "efgh"), "efgh"));
    CHECK_FALSE(judge.clean(3));
    CHECK_FALSE(judge.accept(chunk(shape, 3, "abcd"), "abcX"));
    chunk_header elsewhere = chunk(shape, 4, "efgh");
    elsewhere.offset = 0;
    CHECK_FALSE(judge.accept(elsewhere, "efgh"));
    judge.damaged();
    judge.in_order(1);
    judge.in_order(2);
    judge.in_order(4);
    const fields result = judge.result(6);
    CHECK(result.number("lost") == 1);
    CHECK(result.number("duplicated") == 1);
    CHECK(result.number("corrupted") == 3);
    CHECK(result.number("misordered") == 2);
}

TEST_CASE("failover: bandwidth is measured inside the outage", "[tools]")
{
    timeline t = story();
    t.add(at(2, fault_action::DOWN));
    t.add(at(4, fault_action::UP));
    t.add(change(2001, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_SUSPECT));
    ufx_ucp_failover_stats_t stats = {};
    stats.last_start_ns = START + 2 * SECOND + 300000000;
    stats.seal_ns = 4000000;
    t.add(stats);
    stats.resume_ns = 9000000;
    t.add(stats);
    CHECK(t.failovers().size() == 1);
    const options wanted =
        parse({"--input", "a", "--output", "b", "--fault", "2s:down:rail1,4s:up:rail1"});
    const report result = make_report(clean_run(wanted, t));
    CHECK(result.judged == verdict::OK);
    for (const char *piece :
         {"\"verdict\": \"ok\"", "\"lost\": 0", "\"duplicated\": 0", "\"corrupted\": 0",
          "\"ops_frozen\": 7", "\"ops_landed\": 2", "\"ops_replayed\": 5", "\"detect_us\": 300000",
          "\"seal_us\": 4000.0", "\"replay_us\": null", "\"resume_us\": 9000.0",
          "\"grace_us\": null", "\"mbps_before\": 25.0", "\"mbps_during\": 12.5",
          "\"mbps_after\": 25.0", "\"share_after_up\": 0.5", "\"noticed_us\": 1000",
          "\"break\": null"}) {
        CAPTURE(piece);
        CHECK_THAT(result.json, Catch::Contains(piece));
    }
    CHECK_THAT(result.text, Catch::Contains("verdict    OK"));
    CHECK_THAT(result.text, Catch::Contains("replay -") && Catch::Contains("resume 9.0 ms"));
    CHECK_THAT(result.text, Catch::Contains("rail1      UP") &&
                                Catch::Contains("since it came back 50.0 %, failed 0"));
    CHECK_THAT(result.text, !Catch::Contains("rail0      UP, 0 B, since"));
}

TEST_CASE("failover: what there was not is no number", "[tools]")
{
    const report result = make_report(clean_run(parse({"--input", "a", "--output", "b"}), story()));
    for (const char *name : {"detect_us", "grace_us", "seal_us", "replay_us", "resume_us",
                             "mbps_during", "mbps_after", "share_after_up", "bytes_after_up"}) {
        CAPTURE(name);
        CHECK_THAT(result.json, Catch::Contains("\"" + std::string(name) + "\": null"));
        CHECK_THAT(result.json, !Catch::Contains("\"" + std::string(name) + "\": 0"));
    }
    CHECK_THAT(result.text, Catch::Contains("detect -   seal -   replay -   resume -"));
    CHECK_THAT(result.text, Catch::Contains("before 20.7   during the outage -   after -"));
    CHECK_THAT(result.text, !Catch::Contains("since it came back"));
}

TEST_CASE("failover: the grace is named as a part of the time to detect", "[tools]")
{
    timeline t = story();
    t.add(at(2, fault_action::ONEWAY));
    t.add(change(2050, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_SUSPECT, "STALL"));
    t.add(change(2350, UFX_UCP_RAIL_SUSPECT, UFX_UCP_RAIL_DRAINING, "GRACE_OVER"));
    ufx_ucp_failover_stats_t stats = {};
    stats.last_start_ns = START + 2350 * 1000000ull;
    t.add(stats);
    CHECK(t.grace_ns(stats.last_start_ns) == 300000000);
    const report result = make_report(clean_run(parse({"--input", "a", "--output", "b"}), t));
    CHECK_THAT(result.json, Catch::Contains("\"grace_us\": 300000.0"));
    CHECK_THAT(result.text, Catch::Contains("detect 350.0 ms (300.0 ms of it grace"));
    t.add(change(4000, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DRAINING, "PORT_DOWN"));
    CHECK(t.grace_ns(START + 4 * SECOND) == 0);
    CHECK(t.longest_grace_ns() == 300000000);
}

TEST_CASE("failover: when the peer's grace ends first, what was measured at each end is told",
          "[tools]")
{
    timeline t = story();
    t.add(at(2, fault_action::DOWN));
    t.add(at(4, fault_action::UP));
    ufx_ucp_failover_stats_t stats = {};
    stats.last_start_ns = START + 2300 * 1000000ull;
    t.add(stats);
    const options wanted =
        parse({"--input", "a", "--output", "b", "--fault", "2s:down:rail1,4s:up:rail1"});
    SECTION("SUSPECT here, too")
    {
        t.add(change(2060, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_SUSPECT, "PORT_DOWN"));
        t.add(change(2300, UFX_UCP_RAIL_SUSPECT, UFX_UCP_RAIL_DRAINING, "PEER_RAIL"));
        outcome run = clean_run(wanted, t);
        run.received.set("grace_ns", 300000000u);
        const report result = make_report(run);
        CHECK_THAT(result.json, Catch::Contains("\"grace_us\": 240000.0") &&
                                    Catch::Contains("\"grace_us\": 300000.0"));
        CHECK_THAT(result.text, Catch::Contains("detect 300.0 ms (240.0 ms of it grace"));
    }
    SECTION("at the peer alone")
    {
        t.add(change(2300, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DRAINING, "PEER_RAIL"));
        outcome run = clean_run(wanted, t);
        run.received.set("grace_ns", 280000000u);
        const report result = make_report(run);
        CHECK_THAT(result.json, Catch::Contains("\"grace_us\": null") &&
                                    Catch::Contains("\"grace_us\": 280000.0"));
        CHECK_THAT(result.text,
                   Catch::Contains("detect 300.0 ms (of it the receiver's grace, 280.0 ms"));
    }
}

TEST_CASE("failover: a rail that was taken out of service has not failed", "[tools]")
{
    timeline t = story();
    t.add(change(2000, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DRAINING, "ADMIN"));
    t.add(change(2010, UFX_UCP_RAIL_DRAINING, UFX_UCP_RAIL_DOWN, "DRAINED"));
    CHECK(t.failures(1) == 0);
    CHECK(t.outages().empty());
    const options wanted = parse({"--input", "a", "--output", "b"});
    outcome run = clean_run(wanted, t);
    run.rails[1].state = UFX_UCP_RAIL_DOWN;
    run.rails[1].failures = 1;
    run.rails[1].drained = 1;
    run.rails[1].cause = "ADMIN";
    CHECK_THAT(make_report(run).text, Catch::Contains("rail1      DRAINED (ADMIN), ") &&
                                          Catch::Contains("failed 0, back 0"));
    CHECK_THAT(make_report(run).json, Catch::Contains("\"cause\": \"ADMIN\""));
    t.add(change(3000, UFX_UCP_RAIL_PROBING, UFX_UCP_RAIL_UP, "PROBE_OK"));
    t.add(change(4000, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DRAINING, "PORT_DOWN"));
    t.add(change(4010, UFX_UCP_RAIL_DRAINING, UFX_UCP_RAIL_DOWN, "DRAINED"));
    run.rails[1].drained = 0;
    run.rails[1].cause = "PORT_DOWN";
    CHECK_THAT(make_report(run).text, Catch::Contains("rail1      DOWN (PORT_DOWN), "));
    CHECK(t.failures(1) == 1);
    CHECK(t.outages().size() == 1);
}

TEST_CASE("failover: a schedule that nobody survives is told from one that can be", "[tools]")
{
    using enum fault_action;
    CHECK(why_hopeless({{DOWN, 1}}, 2).empty());
    CHECK(why_hopeless({{DOWN, 0}, {DOWN, 1}, {UP, 1}}, 2).empty());
    CHECK_THAT(why_hopeless({{DOWN, 0}, {UP, 0}}, 1), Catch::Contains("only one rail"));
    CHECK_THAT(why_hopeless({{DOWN, 0}, {DOWN, 1}}, 2), Catch::Contains("leaves no rail"));
    CHECK_THAT(why_hopeless({{ONEWAY, 0}, {DELETE, 1}, {UP, 1}}, 2),
               Catch::Contains("leaves no rail"));
    CHECK_THAT(why_hopeless({{UP, 1}}, 2), Catch::Contains("breaks no rail"));
    CHECK_THAT(why_hopeless({{ONEWAY, 0}, {DOWN, 1}, {UP, 0}}, 2), Catch::Contains("no rail"));
    CHECK(why_hopeless({{ONEWAY, 0}, {DOWN, 0}, {DOWN, 1}, {UP, 0}, {HEAL, 0}}, 2).empty());
    CHECK(why_hopeless({{DOWN, 0}, {DELETE, 1}, {RESET, 1}}, 2).empty());
}

TEST_CASE("failover: a schedule with a step that cannot be done is refused", "[tools]")
{
    using enum fault_action;
    CHECK(why_impossible({{DOWN, 1}, {UP, 1}, {DELETE, 1}}).empty());
    CHECK(why_impossible({{DELETE, 1}, {DOWN, 0}, {UP, 0}}).empty());
    CHECK(why_impossible({{ONEWAY, 1}, {HEAL, 1}, {ONEWAY, 1}, {HEAL, 1}}).empty());
    for (const fault_action after : {UP, DOWN, DELETE, ONEWAY, HEAL}) {
        CHECK_THAT(why_impossible({{ONEWAY, 1}, {DELETE, 1}, {after, 1}}),
                   Catch::Contains("of rail1 comes after its del"));
    }
    CHECK(why_impossible({{DELETE, 1}, {RESET, 1}, {DELETE, 1}}).empty());
    CHECK_THAT(why_impossible({{DOWN, 1}, {RESET, 1}}), Catch::Contains("has no del before it"));
    CHECK_THAT(why_impossible({{DOWN, 1}, {HEAL, 1}}), Catch::Contains("has no oneway before it"));
    CHECK_THAT(why_impossible({{ONEWAY, 0}, {HEAL, 0}, {HEAL, 0}}),
               Catch::Contains("heal of rail0 has no oneway"));
}

TEST_CASE("failover: the verdict says that the damage was asked for", "[tools]")
{
    const timeline t = story();
    const options wanted = parse({"--input", "a", "--output", "b", "--break", "lose"});
    outcome run = clean_run(wanted, t);
    CHECK_THAT(make_report(run).text, Catch::Contains("--break=lose, and no chunk was lost"));
    CHECK(make_report(run).judged == verdict::FAILED);
    run.received.set("lost", 3u);
    const report result = make_report(run);
    CHECK_THAT(result.text, Catch::Contains("FAILED: 3 chunks lost\n") &&
                                Catch::Contains("--break=lose tampered with the data, as was"));
    CHECK_THAT(result.json, Catch::Contains("\"break\": \"lose\""));
}

TEST_CASE("failover: the report is JSON whatever bytes the files are named by", "[tools]")
{
    const options wanted = parse({"--input", "a\xff\"", "--output", "b"});
    const timeline t = story();
    const auto read = nlohmann::json::parse(make_report(clean_run(wanted, t)).json, nullptr, false);
    REQUIRE(read.is_object());
    CHECK(read["input"] == "a\xef\xbf\xbd\"");
}

TEST_CASE("failover: a rail's name is said once", "[tools]")
{
    std::vector<ufx_ucp_rail_attr_t> rails = two_rails(0, 0);
    std::strcpy(rails[1].name, "eth1");
    timeline t;
    t.start(START, rails);
    CHECK(t.rail_label(0) == "rail0");
    CHECK(t.rail_label(1) == "rail1 (eth1)");
    const options wanted = parse({"--input", "a", "--output", "b"});
    outcome run = clean_run(wanted, t);
    run.rails = rails;
    CHECK_THAT(make_report(run).text,
               Catch::Contains("rail0      UP") && Catch::Contains("rail1 (eth1) UP"));
}

TEST_CASE("failover: each thing that is wrong fails the verdict", "[tools][U15]")
{
    const options wanted =
        parse({"--input", "a", "--output", "b", "--fault", "2s:down:rail1,4s:up:rail1"});
    timeline hit = story();
    hit.add(at(2, fault_action::DOWN));
    hit.add(at(4, fault_action::UP));
    timeline missed = hit;
    hit.add(change(2001, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DRAINING));
    REQUIRE(make_report(clean_run(wanted, hit)).judged == verdict::OK);
    for (const char *name : {"lost", "duplicated", "corrupted", "misordered"}) {
        outcome run = clean_run(wanted, hit);
        run.received.set(name, 3u);
        const report result = make_report(run);
        CHECK(result.judged == verdict::FAILED);
        CHECK_THAT(result.text, Catch::Contains(std::string("FAILED: 3 chunks ") + name));
        CHECK_THAT(result.json, Catch::Contains("\"verdict\": \"failed\"") &&
                                    Catch::Contains("\"advice\": null"));
        run.story = &missed; // bad data wins over a fault that hit nothing
        CHECK(make_report(run).judged == verdict::FAILED);
        CHECK_THAT(make_report(run).text, !Catch::Contains("INCONCLUSIVE"));
    }
    outcome run = clean_run(wanted, hit);
    run.received.set("file_right", false);
    CHECK(make_report(run).judged == verdict::FAILED);
}

TEST_CASE("failover: a run that shows no failover is inconclusive, and says how to see one",
          "[tools]")
{
    const options wanted =
        parse({"--input", "a", "--output", "b", "--fault", "2s:down:rail1,4s:up:rail1"});
    timeline missed = story();
    missed.add(at(2, fault_action::DOWN));
    const auto judge = [&](const timeline &t, uint64_t frozen, const char *reason,
                           const char *advice) {
        CAPTURE(reason);
        outcome run = clean_run(wanted, t);
        run.stats.frozen = frozen;
        run.stats.switches = 0;
        const report result = make_report(run);
        CHECK(result.judged == verdict::INCONCLUSIVE);
        CHECK_THAT(result.text, Catch::Contains(std::string("INCONCLUSIVE: ") + reason) &&
                                    Catch::Contains(advice));
        CHECK_THAT(result.text, Catch::Contains("nothing was lost") && !Catch::Contains("FAILED"));
        CHECK_THAT(result.json, Catch::Contains("\"verdict\": \"inconclusive\"") &&
                                    Catch::Contains(reason) && Catch::Contains(advice));
    };
    judge(missed, 0, "the transfer was over before the last fault", "--seconds");
    missed.add(at(4, fault_action::UP));
    judge(missed, 0, "rail1 did not notice its fault at 2.000 s", "for longer");
    timeline flap = missed;
    flap.add(change(2010, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_SUSPECT, "PORT_DOWN"));
    judge(flap, 0, "rail1: its fault at 2.000 s came too late", "--seconds");
    flap.add(change(2110, UFX_UCP_RAIL_SUSPECT, UFX_UCP_RAIL_UP, "PORT_UP"));
    judge(flap, 0, "rail1: its fault at 2.000 s was over within the grace", "UFX_RAIL_GRACE");
    timeline idle = missed;
    idle.add(change(2010, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DRAINING, "PORT_DOWN"));
    judge(idle, 0, "rail1: its fault at 2.000 s led to no switch", "while it carries traffic");
    timeline late = missed;
    late.add(change(4001, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DRAINING, "PORT_DOWN"));
    CHECK(make_report(clean_run(wanted, late)).judged == verdict::OK); // noticed after its end
    judge(idle, 7, "no traffic went over to another rail", "leave a rail up");

    timeline both = flap;
    both.add(applied_fault{START + 3 * SECOND, fault_action::DOWN, 0, "by the test"});
    rail_event other = change(3010, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_SUSPECT, "PORT_DOWN");
    other.index = 0;
    both.add(other);
    judge(both, 0, "rail1: its fault at 2.000 s was over within the grace",
          "leave a rail up");
}

TEST_CASE("failover: without a schedule the rails tell of outages", "[tools]")
{
    timeline t = story();
    t.add(change(2000, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_SUSPECT));
    t.add(change(2300, UFX_UCP_RAIL_SUSPECT, UFX_UCP_RAIL_DRAINING));
    t.add(change(4000, UFX_UCP_RAIL_PROBING, UFX_UCP_RAIL_UP));
    t.add(change(5000, UFX_UCP_RAIL_UP, UFX_UCP_RAIL_DOWN));
    const std::vector<outage> outages = t.outages();
    REQUIRE(outages.size() == 2);
    CHECK(outages[0].ended);
    CHECK(outages[0].end_ns - outages[0].begin_ns == 2 * SECOND);
    CHECK_FALSE(outages[1].ended);
    CHECK(outages[1].end_ns == t.end_ns());
    CHECK(make_report(clean_run(parse({"--input", "a", "--output", "b"}), t)).judged ==
          verdict::OK);
}

TEST_CASE("failover: the commentary says when no rail is left, once", "[tools]")
{
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> out(std::tmpfile(), std::fclose);
    REQUIRE(out);
    const timeline t = story();
    narrator voice(t, out.get());
    const auto text = [&] {
        std::string all(4096, '\0');
        std::rewind(out.get());
        all.resize(std::fread(all.data(), 1, all.size(), out.get()));
        return all;
    };
    std::vector<ufx_ucp_rail_attr_t> rails = two_rails(0, 0);
    rails[0].state = UFX_UCP_RAIL_DOWN;
    voice.watch(START, rails);
    CHECK(text().empty());
    rails[1].state = UFX_UCP_RAIL_SUSPECT;
    voice.watch(START + SECOND, rails);
    voice.watch(START + 2 * SECOND, rails);
    CHECK_THAT(text(), Catch::Contains("1.000 s   all rails are down") &&
                           Catch::Contains("UFX_PEER_TIMEOUT="));
    CHECK_THAT(text(), !Catch::Contains("2.000 s"));
    rails[1].state = UFX_UCP_RAIL_UP;
    voice.watch(START + 3 * SECOND, rails);
    rails[1].state = UFX_UCP_RAIL_DOWN;
    voice.watch(START + 4 * SECOND, rails);
    CHECK_THAT(text(), Catch::Contains("4.000 s   all rails are down"));
}

TEST_CASE("failover: the plot shows each rail and each fault", "[tools]")
{
    timeline t = story();
    t.add(at(2, fault_action::DOWN));
    CHECK_THAT(plot_terminal("a.svg"), Catch::StartsWith("svg"));
    CHECK_THROWS_AS(plot_terminal("a.gif"), tool_error);
    const std::string script = plot_script(t, "svg");
    CHECK_THAT(script, Catch::StartsWith("set terminal svg\n"));
    CHECK_THAT(script, Catch::Contains("\"rail1 down\" at 2,"));
    CHECK_THAT(script, Catch::Contains("title \"rail0\""));
    CHECK_THAT(script, Catch::Contains("\n1 12.5 12.5 25\n"));
}
