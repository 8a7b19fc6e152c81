// SPDX-License-Identifier: BSD-3-Clause
// Two cores that talk to each other over a perfect control path, with lanes that do what a test
// says.
#ifndef UFX_TEST_CORE_DUO_H
#define UFX_TEST_CORE_DUO_H

#include "ucp/core/peer.h"

#include <deque>
#include <map>
#include <vector>

namespace ufx::test {

namespace core = ufx::ucp::core;

// Each side has ep 1 on rails 0 and 1. Answers of the executor come at once; a test can hold
// messages.
class duo {
public:
    struct side {
        side(const core::config &cfg, bool starter) : peer(cfg, starter) {}
        core::peer peer;
        std::vector<core::act::rail_changed> rail_changes;
        std::vector<core::act::fragment_done> done;
        std::vector<core::act::send> sent;
        std::vector<core::act::purge_lane> purges;
        std::map<core::timer_id, core::time_ns> timers;
        std::vector<core::purged_op> outstanding; // handed out at the next purge
        core::landed_position token;
        bool own_error = false;
        bool ep_error = false;
        core::refusal error_code = core::refusal::NONE;
        core::cause error_cause = core::cause::NONE;
        core::refusal not_made = core::refusal::NONE; // what becomes of its lanes
        core::lane_address address;                   // of each lane that is made
        bool transfers_dead = false;
        bool ep_closed = false;
        unsigned admins_done = 0;
        core::action_list out;
    };

    explicit duo(unsigned rails = 2, const core::config &cfg = {})
    {
        sides.emplace_back(cfg, true);
        sides.emplace_back(cfg, false);
        for (unsigned s = 0; s < 2; ++s) {
            for (core::rail_id r = 0; r < rails; ++r) {
                sides[s].peer.add_rail(r, now, sides[s].out);
            }
            sides[s].peer.open_ep(1, 1, 7, core::error_mode::FAILOVER, now, sides[s].out);
        }
        pump();
    }

    // Runs actions and messages until nothing is left to do.
    void pump()
    {
        bool busy = true;
        while (busy) {
            busy = perform(0);
            busy = perform(1) || busy;
            if (!busy && !holding && !wire.empty()) {
                const auto [to, msg] = wire.front();
                wire.pop_front();
                sides[to].peer.control(msg, now, sides[to].out);
                busy = true;
            }
        }
    }

    // Fires the earliest timer of either side.
    void tick()
    {
        unsigned which = 0;
        for (unsigned s = 0; s < 2; ++s) {
            if (earliest(s).second < earliest(which).second) {
                which = s;
            }
        }
        const auto [timer, at] = earliest(which);
        now = std::max(now, at);
        sides[which].timers.erase(timer);
        sides[which].peer.timer(timer, now, sides[which].out);
        pump();
    }

    void fail_lane(unsigned s, core::rail_id rail, core::cause why)
    {
        sides[s].peer.lane_failed(lane(s, rail).ref(), why, now, sides[s].out);
        pump();
    }

    // The last op of that side on rail 0 has ended.
    void finish_idle(unsigned s)
    {
        sides[s].peer.rail_idle(0, now, sides[s].out);
        pump();
    }

    core::ep &ep(unsigned s) { return *sides[s].peer.find_ep(1); }
    const core::lane_slot &lane(unsigned s, core::rail_id rail) { return *ep(s).lane(rail); }
    core::rail_state rail(unsigned s, core::rail_id r)
    {
        return sides[s].peer.find_rail(r)->state();
    }

    std::deque<std::pair<unsigned, core::control_msg>> wire;
    std::deque<side> sides;
    core::time_ns now = 1000;
    bool holding = false; // messages stay on `wire`
    bool probes_work = true;
    bool idles = true; // rails are idle as soon as they are asked; else finish_idle() says so

private:
    std::pair<core::timer_id, core::time_ns> earliest(unsigned s)
    {
        std::pair<core::timer_id, core::time_ns> first{{}, UINT64_MAX};
        for (const auto &t : sides[s].timers) {
            first = t.second < first.second ? std::pair(t.first, t.second) : first;
        }
        return first;
    }

    bool perform(unsigned s)
    {
        core::action_list batch;
        batch.swap(sides[s].out);
        for (const core::action &a : batch) {
            std::visit([&](const auto &x) { act(s, x); }, a);
        }
        return !batch.empty();
    }

    void act(unsigned s, const core::act::send &a)
    {
        sides[s].sent.push_back(a);
        wire.emplace_back(1 - s, a.msg);
    }
    void act(unsigned s, const core::act::arm_timer &a) { sides[s].timers[a.timer] = a.at; }
    void act(unsigned s, const core::act::disarm_timer &a) { sides[s].timers.erase(a.timer); }
    void act(unsigned s, const core::act::create_lane &a)
    {
        if (sides[s].not_made != core::refusal::NONE) {
            sides[s].peer.lane_not_made(a.lane, sides[s].not_made, now, sides[s].out);
        } else {
            sides[s].peer.lane_created(a.lane, sides[s].address, {}, now, sides[s].out);
        }
    }
    void act(unsigned s, const core::act::connect_lane &a)
    {
        sides[s].peer.lane_connected(a.lane, now, sides[s].out);
    }
    void act(unsigned s, const core::act::quiesce_lane &a)
    {
        sides[s].peer.lane_quiet(a.lane, sides[s].own_error, now, sides[s].out);
    }
    void act(unsigned s, const core::act::drain_receives &a)
    {
        sides[s].peer.receives_drained(a.lane, now, sides[s].out);
    }
    void act(unsigned s, const core::act::read_token &a)
    {
        sides[s].peer.token_read(a.lane, sides[s].token, now, sides[s].out);
    }
    void act(unsigned s, const core::act::purge_lane &a)
    {
        sides[s].purges.push_back(a);
        std::vector<core::purged_op> ops;
        ops.swap(sides[s].outstanding);
        sides[s].peer.purged(a.lane, ops, now, sides[s].out);
    }
    void act(unsigned s, const core::act::run_probe &a)
    {
        sides[s].peer.probe_done(a.rail, a.epoch, probes_work, now, sides[s].out);
    }
    void act(unsigned s, const core::act::await_idle &a)
    {
        if (idles) {
            sides[s].peer.rail_idle(a.rail, now, sides[s].out);
        }
    }
    void act(unsigned s, const core::act::rail_changed &a) { sides[s].rail_changes.push_back(a); }
    void act(unsigned s, const core::act::fragment_done &a) { sides[s].done.push_back(a); }
    void act(unsigned s, const core::act::ep_error &a)
    {
        sides[s].ep_error = true;
        sides[s].error_code = a.code;
        sides[s].error_cause = a.why;
    }
    void act(unsigned s, const core::act::peer_transfers_dead &) { sides[s].transfers_dead = true; }
    void act(unsigned s, const core::act::ep_closed &) { sides[s].ep_closed = true; }
    void act(unsigned s, const core::act::admin_done &) { ++sides[s].admins_done; }
    template <class A>
    void act(unsigned, const A &)
    {
    }
};

} // namespace ufx::test

#endif
