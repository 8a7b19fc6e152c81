// SPDX-License-Identifier: BSD-3-Clause
// What ufx_info makes of the libraries' listings.
#include <catch2/catch.hpp>

#include "tools/common/error.h"
#include "tools/info/listing.h"

#include <algorithm>
#include <string>

using namespace ufx::tools;
using namespace ufx::tools::info;

namespace {

constexpr const char *SYSTEM = R"({"components": [{"component": "tcp", "memory_domains": [
    {"name": "tcp", "devices": [
        {"transport": "tcp", "device": "eth0", "type": "network", "mtu": 1,
         "caps": "flush invalidate tokens purge", "latency_ns": 15000, "bandwidth_mb": 1250,
         "port_active": true},
        {"transport": "tcp", "device": "eth1", "error": "Input or output error"}]},
    {"name": "none", "error": "No such device"}]}]})";

/** A worker's state with rail 1 DOWN towards one peer, after these causes. */
std::string worker(const std::string &causes)
{
    std::string history;
    for (size_t at = 0; at < causes.size();) {
        const size_t end = std::min(causes.find(' ', at), causes.size());
        history += (at == 0 ? "" : ",") + ("{\"cause\":\"" + causes.substr(at, end - at)) + "\"}";
        at = end + 1;
    }
    return R"({"rails": [{"index": 0, "state": "UP"}, {"index": 1, "state": "DOWN"}], "peers": [
        {"rails": [{"local": 0, "state": "UP", "cause": "WIRED", "transitions": []},
                   {"local": 1, "state": "DOWN", "cause": "DRAINED", "transitions": [)" +
           history + "]}]}]}";
}

std::string state_of_rail_1(const std::string &causes)
{
    auto state = parse_listing(worker(causes));
    name_drained_rails(state);
    CHECK(state["rails"][0]["state"] == "UP");
    CHECK(state["peers"][0]["rails"][1]["state"] == state["rails"][1]["state"]);
    return state["rails"][1]["state"];
}

} // namespace

TEST_CASE("info: the table of devices has a line for each", "[tools]")
{
    const std::string table = device_table(parse_listing(SYSTEM));
    CHECK_THAT(table,
               Catch::Contains("tcp        eth0    network  up       1250        15.0  yes"));
    CHECK_THAT(table, Catch::Contains("eth1    cannot be opened: Input or output error"));
    CHECK(std::count(table.begin(), table.end(), '\n') == 3);
}

TEST_CASE("info: what is listed for a put's resumption is not called an mtu", "[tools]")
{
    auto system = parse_listing(SYSTEM);
    explain_limits(system);
    const std::string text = system.dump();
    CHECK_THAT(text, Catch::Contains("\"put_granularity\":1"));
    CHECK_THAT(text, !Catch::Contains("mtu"));
    CHECK_THROWS_AS(parse_listing("components:"), tool_error);
}

TEST_CASE("info: a rail that an administrator drained is not shown as DOWN", "[tools]")
{
    CHECK(state_of_rail_1("ADMIN DRAINED") == "DRAINED");
    CHECK(state_of_rail_1("PORT_DOWN DRAINED HOLDOFF_OVER ADMIN") == "DRAINED");
    CHECK(state_of_rail_1("ADMIN DRAINED RESUME PROBE_OK PORT_DOWN DRAINED") == "DOWN");
    CHECK(state_of_rail_1("PORT_DOWN DRAINED") == "DOWN");
}
