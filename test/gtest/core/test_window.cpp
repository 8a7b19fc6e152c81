// SPDX-License-Identifier: BSD-3-Clause
// The AM window and what both halves of a sequence make of it.
#include <catch2/catch.hpp>

#include "ucp/core/am_rx.h"
#include "ucp/core/am_tx.h"

using namespace ufx::ucp::core;

TEST_CASE("window: a hole stays uncovered though what follows has arrived", "[X01][core]")
{
    window w;
    CHECK(w.enter(0) == window::arrival::FRESH);
    CHECK(w.enter(2) == window::arrival::FRESH);
    CHECK(w.covers(0));
    CHECK_FALSE(w.covers(1));
    CHECK(w.covers(2));
    CHECK(w.next() == 1);
    CHECK(w.enter(2) == window::arrival::DUPLICATE);
    CHECK(w.enter(1) == window::arrival::FRESH);
    CHECK(w.next() == 3);
    CHECK(w.enter(1) == window::arrival::DUPLICATE);
}

TEST_CASE("window: it takes 1024 fragments beyond a hole in any order and no more", "[core]")
{
    for (const unsigned step : {1U, 7U, 513U}) {
        window w;
        for (unsigned i = 0; i < window::bits; ++i) {
            CHECK(w.enter(1 + (i * step) % window::bits) == window::arrival::FRESH);
        }
        CHECK(w.enter(window::bits + 1) == window::arrival::BEYOND);
        CHECK(w.end() == window::bits + 1);
        CHECK(w.enter(0) == window::arrival::FRESH);
        CHECK(w.next() == window::bits + 1);
        CHECK(w.bitmap() == window::map{});
    }
}

TEST_CASE("window: it covers what any window that it has been covers", "[core]")
{
    window w;
    std::vector<window> before;
    for (const am_number n : {3U, 1U, 0U, 70U, 2U, 69U, 4U}) {
        before.push_back(w);
        w.enter(n);
        for (const window &old : before) {
            for (am_number covered = 0; covered < old.end(); ++covered) {
                CHECK((w.covers(covered) || !old.covers(covered)));
            }
        }
    }
    CHECK(window::from(w.next(), w.bitmap()) == w);
}

TEST_CASE("am: the fragment that is next is never refused, held bytes are bounded", "[X26][core]")
{
    am_rx rx(10);
    rx.lane_started(0, 1);
    CHECK(rx.arrived(0, 1, 1, 10) == am_rx::verdict::KEEP);
    CHECK(rx.arrived(0, 1, 2, 1) == am_rx::verdict::REFUSED);
    CHECK_FALSE(rx.window().covers(2));
    CHECK(rx.arrived(0, 1, 0, 100) == am_rx::verdict::KEEP);
    CHECK(rx.window().next() == 2);
    CHECK(rx.taken().at(0).count == 3);
    rx.handled(110);
    CHECK(rx.held_bytes() == 0);
    CHECK(rx.arrived(0, 1, 3, 5) == am_rx::verdict::KEEP);
    CHECK(rx.arrived(0, 1, 5000, 5) == am_rx::verdict::BAD);
}

TEST_CASE("am: a fragment that was taken and is not covered is posted again", "[X26][core]")
{
    action_list out;
    am_tx tx(1);
    tx.admit(10, 1, 0);
    tx.admit(11, 1, 0);
    tx.admit(12, 1, 0);
    tx.posted(0, 0, 1, false);
    tx.posted(1, 1, 1, false);
    tx.posted(2, 1, 1, false);
    const auto any = [](const am_tx::entry &) { return true; };
    CHECK(tx.next(any) == nullptr);
    window w;
    w.enter(2); // number 1 was refused, number 0 is still on its way
    tx.covered(w, out);
    tx.taken(1, 1, 2, out);
    REQUIRE(tx.next(any) != nullptr);
    CHECK(tx.next(any)->number == 1);
    tx.taken(0, 1, 0, out);
    CHECK(tx.find(0)->where == am_tx::place::POSTED);
    tx.posted(1, 1, 1, false);
    tx.taken(1, 1, 2, out); // the same count again: the new posting is number 3 on that lane
    CHECK(tx.next(any) == nullptr);
}

TEST_CASE("am: the window of a SEAL does not judge fragments of other lanes", "[X01][core]")
{
    action_list out;
    am_tx tx(1);
    tx.admit(10, 2, 0);
    tx.posted(0, 0, 1, true);
    tx.posted(1, 1, 1, true);
    tx.lane_purged(1, 1, {}, out);
    CHECK(tx.find(0)->where == am_tx::place::POSTED);
    CHECK(tx.find(1)->where == am_tx::place::REPLAY);
}

TEST_CASE("am: a payload is given back when it is covered and locally quiet", "[X07][core]")
{
    action_list out;
    am_tx tx(1);
    tx.admit(10, 1, 0);
    tx.posted(0, 0, 1, true);
    tx.covered(1, out);
    CHECK(out.empty());
    tx.local_done(0, out);
    REQUIRE(out.size() == 1);
    CHECK(std::get<act::fragment_done>(out[0]).status == UFX_OK);
    CHECK(tx.empty());
}

TEST_CASE("am: a numbered message that ends early goes out as SKIP of its numbers", "[X20][core]")
{
    action_list out;
    am_tx tx(1);
    tx.admit(10, 2, 0);
    tx.admit(11, 1, 0);
    tx.posted(0, 0, 1, false);
    tx.end(10, UFX_ERR_CANCELED, cause::NONE, out);
    REQUIRE(out.size() == 1); // the posted one finishes first
    CHECK(std::get<act::fragment_done>(out[0]).part == 1);
    const auto any = [](const am_tx::entry &) { return true; };
    REQUIRE(tx.next(any) != nullptr);
    CHECK(tx.next(any)->skip);
    CHECK(tx.next(any)->first == 0);
    CHECK(tx.next(any)->count == 2);
    out.clear();
    tx.lane_purged(0, 1, {}, out);
    REQUIRE(out.size() == 1);
    CHECK(std::get<act::fragment_done>(out[0]).status == UFX_ERR_CANCELED);
    CHECK(tx.next(any)->number == 0);
    CHECK(tx.next(any)->skip);
}

TEST_CASE("am: after 64 replays a message ends UNREACHABLE and leaves no hole", "[core]")
{
    action_list out;
    am_tx tx(1);
    tx.admit(10, 1, 0);
    for (epoch_t epoch = 1; epoch <= 65; ++epoch) {
        CHECK(out.empty());
        tx.posted(0, 0, epoch, false);
        tx.lane_purged(0, epoch, {}, out);
    }
    REQUIRE(out.size() == 1);
    CHECK(std::get<act::fragment_done>(out[0]).status == UFX_ERR_UNREACHABLE);
    CHECK(tx.find(0)->skip);
}

TEST_CASE("am: no message is admitted beyond the window", "[core]")
{
    action_list out;
    am_tx tx(1);
    CHECK(tx.admit(10, 1024, 0).has_value());
    CHECK_FALSE(tx.admit(11, 1, 0).has_value());
    tx.posted(0, 0, 1, false);
    tx.covered(1, out);
    CHECK(tx.admit(11, 1, 0) == 1024U);
}
