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
        {"transport": "tcp", "device": "eth0", "type": "network", "put_granularity": 1,
         "caps": "flush invalidate tokens purge", "latency_ns": 15000, "bandwidth_mb": 1250,
         "port_active": true},
        {"transport": "tcp", "device": "eth1", "error": "Input or output error"}]},
    {"name": "none", "error": "No such device"}]}]})";

/** The state that is shown of a rail of which the library says this. */
std::string shown(const std::string &rail)
{
    auto state =
        parse_listing(R"({"rails": [)" + rail + R"(], "peers": [{"rails": [)" + rail + "]}]}");
    name_drained_rails(state);
    CHECK(state["peers"][0]["rails"][0]["state"] == state["rails"][0]["state"]);
    return state["rails"][0]["state"];
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

TEST_CASE("info: an answer that is not JSON is an error", "[tools]")
{
    CHECK_THROWS_AS(parse_listing("components:"), tool_error);
}

TEST_CASE("info: a rail that an administrator drained is not shown as DOWN", "[tools]")
{
    CHECK(shown(R"({"state": "DOWN", "drained": true})") == "DRAINED");
    CHECK(shown(R"({"state": "DOWN", "drained": false})") == "DOWN");
    CHECK(shown(R"({"state": "DRAINING", "drained": true})") == "DRAINING");
    CHECK(shown(R"({"state": "UP", "drained": false})") == "UP");
}
