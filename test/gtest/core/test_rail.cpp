// SPDX-License-Identifier: BSD-3-Clause
// Rails: signs, hold-off, damping, probes, drains.
#include <catch2/catch.hpp>

#include "core/duo.h"

#include <algorithm>

using namespace ufx::ucp::core;
using ufx::test::duo;

namespace {

struct one_rail {
    config cfg;
    action_list out;
    rail health{3, 42};
    time_ns now = 1;
    bool other_up = true;
    rail_env env() { return {now, cfg, other_up, false, out}; }
    time_ns holdoff()
    {
        for (auto a = out.rbegin(); a != out.rend(); ++a) {
            const auto *arm = std::get_if<act::arm_timer>(&*a);
            if (arm != nullptr && arm->timer.kind == timer_kind::RAIL_HOLDOFF) {
                return arm->at - now;
            }
        }
        return 0;
    }
    void die()
    {
        health.hard(env(), cause::DEVICE_FATAL);
        health.drained(env());
    }
};

} // namespace

TEST_CASE("rail: a short port flap fails nothing", "[core]")
{
    duo d;
    d.sides[0].peer.rail_port(0, false, d.now, d.sides[0].out);
    d.pump();
    CHECK(d.rail(0, 0) == rail_state::SUSPECT);
    CHECK(d.lane(0, 0).is_live());
    d.sides[0].peer.rail_port(0, true, d.now, d.sides[0].out);
    d.pump();
    CHECK(d.rail(0, 0) == rail_state::UP);
    CHECK(d.lane(0, 0).epoch() == 1);
}

TEST_CASE("rail: soft signs drain after the grace, but never the last rail", "[core]")
{
    one_rail r;
    r.health.soft(r.env(), sign::STALL, cause::STALL);
    r.other_up = false;
    r.health.grace_over(r.env());
    CHECK(r.health.state() == rail_state::SUSPECT);
    r.health.hard(r.env(), cause::DEVICE_FATAL);
    CHECK(r.health.state() == rail_state::DRAINING);

    one_rail s;
    s.health.soft(s.env(), sign::STALL, cause::STALL);
    s.health.grace_over(s.env());
    CHECK(s.health.state() == rail_state::DRAINING);
}

TEST_CASE("rail: a peer that asks at once after a failed probe is not joined at once", "[core]")
{
    using ufx::ucp::core::rail;
    one_rail r;
    r.cfg.holdoff_ns = 2 * rail::join_pause_ns;
    r.die();
    r.health.join_probe(r.env());
    REQUIRE(r.health.state() == rail_state::PROBING);
    r.health.probe_failed(r.env(), cause::PROBE_FAILED);
    r.health.join_probe(r.env());
    CHECK(r.health.state() == rail_state::DOWN);
    r.now += rail::join_pause_ns;
    r.health.join_probe(r.env());
    CHECK(r.health.state() == rail_state::PROBING);
}

TEST_CASE("rail: RETRY_EXC alone outlasts any grace until the peer's SEAL", "[X13][core]")
{
    one_rail r;
    r.health.soft(r.env(), sign::RETRY, cause::RETRY_EXC);
    for (unsigned i = 0; i < 20; ++i) {
        r.health.grace_over(r.env());
    }
    CHECK(r.health.state() == rail_state::SUSPECT);
    r.health.clear(r.env(), sign::RETRY, cause::PROGRESS);
    CHECK(r.health.state() == rail_state::UP);
}

TEST_CASE("rail: the hold-off doubles with each failed probe, with bounded jitter", "[core]")
{
    one_rail r;
    r.die();
    time_ns expected = r.cfg.holdoff_ns;
    for (unsigned i = 0; i < 10; ++i) {
        const time_ns hold = r.holdoff();
        CHECK(hold >= expected);
        CHECK(hold <= std::min(expected + expected / 4, r.cfg.holdoff_max_ns));
        r.now += hold;
        r.health.holdoff_over(r.env());
        REQUIRE(r.health.state() == rail_state::PROBING);
        r.health.probe_failed(r.env(), cause::PROBE_FAILED);
        expected = std::min(expected * 2, r.cfg.holdoff_max_ns);
    }
}

TEST_CASE("rail: a peer cannot hold it off for longer than the longest hold-off", "[core]")
{
    one_rail r;
    r.die();
    r.health.holdoff_over(r.env());
    REQUIRE(r.health.state() == rail_state::PROBING);
    r.health.peer_damped(r.env(), UINT32_MAX);
    CHECK(r.holdoff() == r.cfg.holdoff_max_ns);
}

TEST_CASE("rail: with no other rail UP the hold-off is at most a second", "[core]")
{
    one_rail r;
    r.die();
    for (unsigned i = 0; i < 8; ++i) {
        r.health.holdoff_over(r.env());
        r.health.probe_failed(r.env(), cause::PROBE_FAILED);
    }
    CHECK(r.holdoff() > r.cfg.holdoff_alone_ns);
    r.other_up = false;
    r.health.shorten_holdoff(r.env());
    CHECK(r.holdoff() == r.cfg.holdoff_alone_ns);
    r.health.holdoff_over(r.env());
    r.health.probe_failed(r.env(), cause::PROBE_FAILED);
    CHECK(r.holdoff() <= r.cfg.holdoff_alone_ns);
}

TEST_CASE("rail: a flapping rail is damped, and the penalty decays by half-lives", "[core]")
{
    one_rail r;
    for (unsigned i = 0; i < 4; ++i) {
        r.die();
        r.health.holdoff_over(r.env());
        r.health.probe_own_done(r.env());
        r.health.probe_peer_done(r.env());
        REQUIRE(r.health.state() == rail_state::UP); // one success does not wipe the penalty
    }
    CHECK(r.health.penalty_percent(r.now, r.cfg) == 400);
    r.die();
    CHECK(r.holdoff() >= 16 * r.cfg.holdoff_ns);
    CHECK(r.health.penalty_percent(r.now + r.cfg.penalty_half_life_ns, r.cfg) == 250);
}

TEST_CASE("rail: it comes back only by its own read-backs and the peer's PROBE_OK", "[core]")
{
    one_rail r;
    r.die();
    r.health.holdoff_over(r.env());
    r.health.probe_peer_done(r.env());
    CHECK(r.health.state() == rail_state::PROBING);
    r.health.probe_own_done(r.env());
    CHECK(r.health.state() == rail_state::UP);
    CHECK(r.health.ramp(r.now, r.cfg) < 64);
    CHECK(r.health.ramp(r.now + r.cfg.ramp_ns, r.cfg) == 256);
}

TEST_CASE("rail: it does not probe while its last SEAL is not acked", "[X24][core]")
{
    one_rail r;
    r.die();
    r.health.holdoff_over({r.now, r.cfg, true, true, r.out});
    CHECK(r.health.state() == rail_state::DOWN);
    r.health.try_probe(r.env(), cause::HOLDOFF_OVER);
    CHECK(r.health.state() == rail_state::PROBING);
}

TEST_CASE("rail: the last 64 transitions are kept with their causes", "[core]")
{
    one_rail r;
    for (unsigned i = 0; i < 40; ++i) {
        r.now += 10;
        r.health.soft(r.env(), sign::STALL, cause::STALL);
        r.health.progress(r.env());
    }
    const transitions &history = r.health.history();
    CHECK(history.total() == 80);
    REQUIRE(history.size() == 64);
    CHECK(history[63].to == rail_state::UP);
    CHECK(history[62].why == cause::STALL);
    CHECK(history[0].at < history[63].at);
}

TEST_CASE("rail: all rails die and return, and every lane is rebuilt", "[X05][core]")
{
    duo d;
    d.sides[0].peer.rail_hard(0, cause::NET_UNREACHABLE, d.now, d.sides[0].out);
    d.sides[1].peer.rail_hard(1, cause::NET_UNREACHABLE, d.now, d.sides[1].out);
    d.pump();
    CHECK_FALSE(d.sides[0].peer.any_rail_up());
    CHECK_FALSE(d.sides[0].peer.may_post(1, 0));
    for (unsigned i = 0; i < 100 && !(d.lane(0, 0).is_live() && d.lane(0, 1).is_live()); ++i) {
        d.tick();
    }
    CHECK(d.now < 3'000'000'000);
    for (const rail_id r : {rail_id{0}, rail_id{1}}) {
        CHECK(d.rail(0, r) == rail_state::UP);
        CHECK(d.rail(1, r) == rail_state::UP);
        CHECK(d.lane(1, r).is_live());
        CHECK(d.sides[1].peer.may_post(1, r));
    }
}

TEST_CASE("rail: a stale SEAL of scope RAIL does not drain a recovered rail", "[X24][core]")
{
    duo d;
    d.sides[0].peer.rail_hard(0, cause::NET_UNREACHABLE, d.now, d.sides[0].out);
    d.pump();
    const auto sent =
        std::find_if(d.sides[0].sent.begin(), d.sides[0].sent.end(),
                     [](const act::send &a) { return std::holds_alternative<seal_msg>(a.msg); });
    REQUIRE(sent != d.sides[0].sent.end());
    const control_msg stale = sent->msg;
    for (unsigned i = 0; i < 100 && d.rail(1, 0) != rail_state::UP; ++i) {
        d.tick();
    }
    const auto changes = d.sides[1].rail_changes.size();
    d.sides[1].peer.control(stale, d.now, d.sides[1].out);
    d.pump();
    CHECK(d.sides[1].rail_changes.size() == changes);
    CHECK(d.rail(1, 0) == rail_state::UP);
}

TEST_CASE("rail: a drain that both sides ask for at once ends, and so do its resumes", "[core]")
{
    duo d;
    for (const admin_action what : {admin_action::DRAIN, admin_action::RESUME}) {
        for (duo::side &s : d.sides) { // neither has heard of the other's
            s.peer.admin(0, what, d.now, s.out);
        }
        d.pump();
        const rail_state wanted = what == admin_action::DRAIN ? rail_state::DOWN : rail_state::UP;
        for (unsigned i = 0; i < 50 && d.rail(1, 0) != wanted; ++i) {
            d.tick();
        }
        for (unsigned s = 0; s < 2; ++s) {
            CHECK(d.rail(s, 0) == wanted);
            CHECK(d.sides[s].admins_done == (what == admin_action::DRAIN ? 1u : 2u));
            CHECK(d.sides[s].peer.book().empty());
        }
    }
    CHECK(d.lane(0, 0).is_live());
}

TEST_CASE(
    "rail: a drain that is resumed before it has ended ends all the same, and the rail returns",
    "[core]")
{
    duo d;
    d.idles = false; // operations are under way on both sides
    duo::side &asker = d.sides[GENERATE(0u, 1u)];
    asker.peer.admin(0, admin_action::DRAIN, d.now, asker.out);
    d.pump();
    REQUIRE(d.rail(0, 0) == rail_state::DRAINING);
    REQUIRE(d.rail(1, 0) == rail_state::DRAINING);
    asker.peer.admin(0, admin_action::RESUME, d.now, asker.out);
    d.pump();
    const time_ns resumed = d.now;
    d.finish_idle(0);
    CHECK(d.rail(0, 0) == rail_state::DRAINING); // until the other side's have ended, too
    CHECK(d.lane(0, 0).is_live());
    d.finish_idle(1);
    for (unsigned i = 0; i < 50 && d.rail(0, 0) != rail_state::UP; ++i) {
        d.tick();
    }
    CHECK(d.rail(0, 0) == rail_state::UP);
    CHECK(d.rail(1, 0) == rail_state::UP);
    CHECK(d.now - resumed < 500 * ms_ns); // neither by the drain's limit nor by a hold-off
    CHECK(asker.admins_done == 1);        // the resume replaced the drain
    // A later drain by the other side waits for both again.
    duo::side &other = d.sides[&asker == &d.sides[0] ? 1 : 0];
    other.peer.admin(0, admin_action::DRAIN, d.now, other.out);
    d.pump();
    d.finish_idle(&asker == &d.sides[0] ? 0 : 1);
    CHECK(d.lane(0, 0).is_live());
}

TEST_CASE("rail: an administrative drain ends DOWN on both sides, a resume brings it back",
          "[core]")
{
    duo d;
    d.sides[0].peer.admin(0, admin_action::DRAIN, d.now, d.sides[0].out);
    d.pump();
    CHECK(d.rail(0, 0) == rail_state::DOWN);
    CHECK(d.rail(1, 0) == rail_state::DOWN);
    for (unsigned i = 0; i < 20; ++i) { // by no hold-off
        d.now += 60'000'000'000;
        d.sides[0].peer.timer({timer_kind::RAIL_HOLDOFF, 0, 0, 0}, d.now, d.sides[0].out);
        d.pump();
    }
    CHECK(d.rail(0, 0) == rail_state::DOWN);
    d.sides[0].peer.admin(0, admin_action::RESUME, d.now, d.sides[0].out);
    d.pump();
    for (unsigned i = 0; i < 50 && d.rail(0, 0) != rail_state::UP; ++i) {
        d.tick();
    }
    CHECK(d.rail(0, 0) == rail_state::UP);
    CHECK(d.rail(1, 0) == rail_state::UP);
}
