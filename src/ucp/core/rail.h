// SPDX-License-Identifier: BSD-3-Clause
// One rail's health: UP, SUSPECT, DRAINING, DOWN, PROBING.
//
//   UP       posts go on
//            soft sign: SUSPECT; hard sign, admin drain: DRAINING
//   SUSPECT  outstanding fragments kept, no posts but one NOP per lane on entry and on port up
//            every sign gone (progress and port active): UP; hard sign: DRAINING;
//            grace over: DRAINING, but not while no other rail is UP
//   DRAINING no posts; every lane is sealed (an admin drain lets outstanding ops finish first)
//            no lane is left unjudged: DOWN
//   DOWN     hold-off over and port active: PROBING; port up while no rail is UP: PROBING at once;
//            DOWN by an admin drain: only by resume
//   PROBING  a probe lane without an ep: own 5 read-backs and the peer's PROBE_OK: UP;
//            failure, time over, hard sign: DOWN with a doubled hold-off
//
// The machine decides only states, hold-offs and penalties. peer watches the state before and after
// each event, and seals, wires, gates or probes.
#ifndef UFX_UCP_CORE_RAIL_H
#define UFX_UCP_CORE_RAIL_H

#include "ucp/core/action.h"
#include "ucp/core/config.h"
#include "ucp/core/transitions.h"

namespace ufx::ucp::core {

// A soft sign, each with its own way to go away.
enum class sign : std::uint8_t {
    PORT = 1,  // port, link or address query says down; gone when it says up
    STALL = 2, // no completion for too long; gone with progress
    RETRY = 4, // RETRY_EXC on a lane; gone when the peer's SEAL explains it
    HINT = 8,  // the peer said so; gone with progress
};

// What one event of a rail may look at, and where its actions go.
struct rail_env {
    time_ns now = 0;
    const config &cfg;
    bool other_up = false; // another rail to this peer is UP
    // A SEAL of scope RAIL for this rail is not acked yet: a rail that came back before the peer
    // has seen it would be drained again by it.
    bool seal_open = false;
    action_list &out;
};

class rail {
public:
    static constexpr time_ns join_pause_ns = 10'000'000;

    rail(rail_id id, std::uint64_t seed) : id_(id), jitter_(seed * 2 + 1) {}

    rail_id id() const { return id_; }
    rail_state state() const { return state_; }
    bool port_active() const { return port_active_; }
    cause why() const { return why_; }
    // Out of service by an administrator, here or at the peer.
    bool is_drained() const { return admin_; }
    // Lanes may be wired on it.
    bool carries_lanes() const { return state_ == rail_state::UP || state_ == rail_state::SUSPECT; }
    // The share of traffic it should get now, 0..256: a rail that came back ramps up.
    unsigned ramp(time_ns now, const config &cfg) const;
    bool has_changed() const { return history_.total() != 0; } // else it has been UP all the time

    // Soft signs.
    void soft(const rail_env &env, sign which, cause why);
    void clear(const rail_env &env, sign which, cause why);
    void progress(const rail_env &env); // a completion on that rail, the NOP's included
    void port(const rail_env &env, bool active);
    void grace_over(const rail_env &env);
    // Hard signs of scope RAIL.
    void hard(const rail_env &env, cause why);

    void admin_drain(const rail_env &env);
    void resume(const rail_env &env);
    void drained(const rail_env &env);
    void holdoff_over(const rail_env &env);
    // What a probe waited for (hold-off, port, resume, the last SEAL_ACK) may have come true.
    void try_probe(const rail_env &env, cause why);
    // The peer probes already: join it, unless a long hold-off is still running (see damped), or the
    // last probe failed just now: a side that cannot make a lane would be asked again at once.
    void join_probe(const rail_env &env);
    bool damped(time_ns now, const config &cfg) const;
    // The peer answered the probe with DAMPED(ms): wait so long, that is no failure.
    void peer_damped(const rail_env &env, std::uint32_t ms);
    // The last UP rail went: no hold-off may last longer than holdoff_alone_ns.
    void shorten_holdoff(const rail_env &env);
    // While DOWN: how long still, for DAMPED(ms).
    std::uint32_t holdoff_left_ms(time_ns now) const;

    // PROBING: both halves must come true, for the same probe lane.
    void probe_started();
    void probe_own_done(const rail_env &env);
    void probe_peer_done(const rail_env &env);
    void probe_failed(const rail_env &env, cause why);
    bool probe_own_ok() const { return own_ok_; }

    std::uint8_t signs() const { return signs_; }
    const transitions &history() const { return history_; }
    unsigned penalty_percent(time_ns now, const config &cfg) const;

    template <class V>
    void fold(V &v) const
    {
        v(static_cast<std::uint8_t>(state_));
        v(static_cast<std::uint8_t>(why_));
        v(signs_);
        v(port_active_);
        v(admin_);
        v(holdoff_passed_);
        v(own_ok_);
        v(peer_ok_);
    }

private:
    void go(const rail_env &env, rail_state to, cause why);
    void enter_down(const rail_env &env, cause why);
    void enter_probing(const rail_env &env, cause why);
    void try_up(const rail_env &env);
    time_ns next_holdoff(const rail_env &env);

    rail_id id_;
    rail_state state_ = rail_state::UP;
    cause why_ = cause::WIRED;
    std::uint8_t signs_ = 0;
    bool port_active_ = true;
    bool admin_ = false;
    bool holdoff_passed_ = false; // waits only for the port
    bool own_ok_ = false;
    bool peer_ok_ = false;
    // Clocks: they decide when a hold-off ends and a peer's probe is joined, and nothing else.
    std::uint8_t failed_probes_ = 0;
    time_ns failed_at_ = 0;
    double penalty_ = 0;
    time_ns penalty_at_ = 0;
    time_ns holdoff_until_ = 0;
    time_ns up_since_ = 0;
    std::uint64_t jitter_;
    transitions history_;
};

} // namespace ufx::ucp::core

#endif
