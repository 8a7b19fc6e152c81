// SPDX-License-Identifier: BSD-3-Clause
// One life and death of a bystander, and many.
#include "bystander.h"

#include "companion.h"
#include "killer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <sys/wait.h>

namespace ufx::test {

namespace {

constexpr int passes = 5;
constexpr uint64_t step_ns = 6000;

void poll_all(device &of, std::vector<cqe> &into)
{
    while (auto done = of.poll()) {
        into.push_back(*done);
    }
}

} // namespace

uint64_t scene::killed_at(uint64_t stores)
{
    companion other(on_.fabric, [&](rig &theirs, line &to) {
        (void)to.hear();
        to.say(die_within(theirs.shared(), stores, [&] {
            for (int i = 0; i < passes; i++) {
                theirs.step(step_ns);
            }
        }));
    });
    post();
    (void)swhca::engine(on_.fabric.shared(), 0).scan_doorbells(); // the work is left to the other
    other.talk().say(1);
    int status = other.wait();
    REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
    on_.fabric.now_ns += passes * step_ns;
    return other.talk().hear();
}

std::string scene::verdict()
{
    at_death();
    on_.fabric.step();
    go_on();
    (void)on_.fabric.until([this] { return collect(); }, 100'000, 100'000'000);
    on_.fabric.step();
    (void)collect(); // what comes twice
    if (left_.size() != left_count() || right_.size() != right_count()) {
        return std::to_string(left_.size()) + " and " + std::to_string(right_.size()) +
               " completions";
    }
    return check();
}

bool scene::collect()
{
    poll_all(on_.a, left_);
    poll_all(on_.b, right_);
    return left_.size() >= left_count() && right_.size() >= right_count();
}

bool scene::undisturbed()
{
    return !on_.a.next_event() && !on_.b.next_event() && on_.left.state() == rts &&
           on_.right.state() == rts;
}

std::vector<cqe> of_kind(const std::vector<cqe> &all, bool request)
{
    std::vector<cqe> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), [request](const cqe &each) {
        return (each.opcode == 0 || each.opcode == 13) == request;
    });
    return found;
}

bool all_well(const std::vector<cqe> &sent, size_t count)
{
    auto wrong = std::adjacent_find(sent.begin(), sent.end(), [](const cqe &one, const cqe &next) {
        return one.counter >= next.counter;
    });
    auto failed =
        std::find_if(sent.begin(), sent.end(), [](const cqe &each) { return each.opcode != 0; });
    return sent.size() == count && wrong == sent.end() && failed == sent.end();
}

void kill_bystanders(const std::function<std::unique_ptr<scene>()> &make)
{
    auto whole = make();
    uint64_t all = whole->killed_at(unharmed);
    REQUIRE(all > 10);
    CHECK(whole->verdict() == "");
    uint64_t times = kills_of(all);
    for (uint64_t i = 0; i < times; i++) {
        uint64_t stores = 1 + all * i / times;
        auto one = make();
        INFO("killed at store " << stores << " of " << all);
        CHECK(one->killed_at(stores) == 0);
        CHECK(one->verdict() == "");
    }
}

} // namespace ufx::test
