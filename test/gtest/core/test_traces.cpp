// SPDX-License-Identifier: BSD-3-Clause
// Traces that once broke a promise, or that kill a mutant, run against the real core.
#include <catch2/catch.hpp>

#include "explore/search.h"

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace ufx::explore;

namespace {

struct stored_trace {
    const scenario *plan = nullptr;
    trace steps;
};

stored_trace read_trace(const std::filesystem::path &path)
{
    stored_trace out;
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string first;
        std::string second;
        words >> first >> second;
        if (first == "scenario") {
            out.plan = find_scenario(second);
        } else if (const auto e = from_text(line)) {
            out.steps.push_back(*e);
        }
    }
    return out;
}

} // namespace

TEST_CASE("traces: every stored interleaving keeps every promise",
          "[X01][X02][X03][X05][X07][X10][X17][X18][X19][X20][X22][X23][X24][X25][X26][core]")
{
    unsigned count = 0;
    const std::string folder = std::string(UFX_TOP_SRCDIR) + "/test/gtest/core/traces";
    for (const auto &file : std::filesystem::directory_iterator(folder)) {
        CAPTURE(file.path().filename().string());
        const stored_trace stored = read_trace(file.path());
        REQUIRE(stored.plan != nullptr);
        coverage seen;
        const finding found = replay(*stored.plan, stored.steps, seen);
        CHECK(found.broken == "");
        ++count;
    }
    CHECK(count >= 26);
}

TEST_CASE("traces: an ep's error comes after its lanes are quiet, when the peer is killed",
          "[X11][core]")
{
    coverage seen;
    tally sum;
    limits bounds;
    bounds.walks = 300;
    const scenario *plan = find_scenario("rc-die");
    REQUIRE(plan != nullptr);
    const finding found = random_walks(*plan, bounds, seen, sum);
    CHECK(found.broken == "");
    CHECK(sum.settled == 300);
}
