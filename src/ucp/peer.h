// SPDX-License-Identifier: BSD-3-Clause
// A peer worker: feeds the failover core with events and carries out its actions.
//
// Events may come at any time (uct callbacks, control messages, timers, user calls); the core
// appends actions to one list, which run() drains in order from the worker's progress, never inside
// a callback of uct. Only gates (may ops be posted on a lane?) follow at once.
#ifndef UFX_UCP_PEER_H
#define UFX_UCP_PEER_H

#include "ucp/address.h"
#include "ucp/control_link.h"
#include "ucp/core/peer.h"
#include "ucp/core/timer.h"
#include "ucp/failover_stats.h"
#include "ucp/lane.h"
#include "ucp/prober.h"
#include "ucs/owner.h"
#include "ucs/timer_wheel.h"

#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <vector>

namespace ufx::ucp {

class ep;
class rail;
class worker;

class peer {
public:
    peer(worker &w, const worker_address &address);
    // Both ends of the eps to the own worker.
    static void make_twins(peer &starter, peer &answerer, core::rail_id rail);
    ~peer();
    peer(const peer &) = delete;
    peer &operator=(const peer &) = delete;

    worker &home() const { return worker_; }
    std::uint64_t uuid() const { return address_.uuid; }
    bool is_self() const { return twin_ != nullptr; }
    const worker_address &address() const { return address_; }
    const core::config &core_cfg() const { return cfg_; }
    core::peer &machine() { return core_; }
    const core::peer &machine() const { return core_; }
    core::time_ns now() const;

    // Where calls into core::ep put their actions; they run at the end of a progress.
    core::action_list &actions() { return actions_; }
    // An event of core::peer: event([](core::peer &m, core::time_ns now, core::action_list &out)).
    template <class F>
    void event(F &&feed)
    {
        const std::size_t from = actions_.size();
        or_die([&] { feed(core_, now(), actions_); });
        follow_gates(from);
    }
    // Runs `step`. Without memory for it this side may miss what it has to do, so that it gives the
    // peer up in its next run(): all eps fail.
    template <class F>
    void or_die(F step)
    {
        try {
            step();
        } catch (const std::bad_alloc &) {
            starved_ = true;
        }
    }
    bool has_actions() const { return !actions_.empty(); }
    // There is something for run() to do.
    bool has_work() const { return has_actions() || !probers_.empty() || starved_; }
    // Carries out what is on the list; false if there was nothing.
    bool run();
    // Rails that wait to be idle, late sweeps.
    void tick();

    // A control message of that peer, by whatever way it came.
    void on_control(const core::control_msg &msg);
    // Sends one message; from attempt 1 on over every lane that is up too.
    void send(const core::control_msg &msg, unsigned attempt = 0);
    // Names a question of ucp's own.
    struct question {
        enum class about : std::uint8_t { REVOKE, RKEY, ADDR };
        about what;
        std::uint64_t id;
        unsigned device = 0; // of the peer, for RKEY
        auto operator<=>(const question &) const = default;
    };
    // Sends now and again, 20 ms to 1 s, until answered(which).
    void send_until_answered(const question &which, core::control_msg msg);
    void answered(const question &which);
    void send_over_lanes(std::span<const std::uint8_t> frame);
    // A part of a frame that came over a lane: the frame, once it is whole.
    std::span<const std::uint8_t> take_part(const control_part &part);
    std::vector<control_link::target> control_targets() const;
    // Every own port to every address of the peer.
    std::vector<control_link::target> all_control_targets() const;
    // Tells the peer the address of an own port, until it has acked it.
    void publish_address(unsigned local);
    // `serial` of the ADDR that said so; 0: a HELLO.
    void learn_address(const rail_address &fresh, std::uint64_t serial);
    // A sign of life.
    void heard();

    // Eps.
    void add_ep(ep &e, core::ep_id peer_ep, std::uint64_t connection);
    ep *find_ep(core::ep_id own) const;
    bool has_eps() const { return !eps_.empty(); }
    void forget_ep(ep &e);
    void close_ep(ep &e, bool is_cut);
    std::uint64_t next_connection() { return next_connection_++; }
    void saw_connection(std::uint64_t connection);
    bool is_dead() const { return core_.is_dead(); }
    // A pair of ports that was not matched and only stands in: it says nothing of its ports' state.
    bool is_crossed(core::rail_id id) const;
    // Nothing needs this object any more.
    bool is_over() const { return is_dead() && eps_.empty() && actions_.empty(); }
    // EOF and refused everywhere, another uuid, or silence for UFX_PEER_TIMEOUT.
    void declare_dead(const char *why);
    const char *death() const { return death_; }
    void refuse_all(ufx_status_t status, ufx_ucp_refusal_t code, const std::string &text);

    // Rails (pairs of ports).
    rail *local_port(core::rail_id id) const;
    unsigned local_index(core::rail_id id) const;
    unsigned remote_index(core::rail_id id) const;
    template <class F>
    void for_each_rail_of(unsigned local, F &&f)
    {
        const std::vector<core::rail_id> ids = core_.rail_ids();
        for (const core::rail_id id : ids) {
            if (local_index(id) == local) {
                f(id);
            }
        }
    }
    void port_event(unsigned local, bool active);
    void port_hard(unsigned local, core::cause why);
    void admin(unsigned local, core::admin_action what);
    // A lane on that rail showed progress.
    void lane_progress(core::rail_id id);
    lane *find_lane(const core::lane_ref &ref) const;

    failover_stats &stats();
    void count_purged(const core::purged_op &op);

private:
    void give_up();
    void run_next();
    struct resent;
    // What the peer was told last about an own port.
    struct published {
        std::uint64_t serial = 0;
        std::vector<std::uint8_t> bytes;
    };
    void on_addr(const core::addr_msg &msg);
    void on_addr_ack(const core::addr_ack_msg &msg);
    void follow_gates(std::size_t from);
    void add_rails();
    void add_crossed_rails();
    bool may_pair(core::rail_id id) const;
    void learn_rail(const core::control_msg &msg);
    void lane_failed(const core::lane_ref &ref, core::cause why);
    // `otherwise`: why it failed if `status` does not say more.
    void lane_not_made(const core::lane_ref &ref, ufx_status_t status, core::cause otherwise);
    core::landed_position token_of(const core::lane_ref &ref) const;
    void pair_or_accept(const core::act::incoming_ep &a, const core::lane_name &lane,
                        std::uint64_t connection, core::error_mode mode);
    void trace_send(const core::control_msg &msg, unsigned attempt);
    // One overload for each action, in peer_actions.cpp.
    void act(const core::act::send &a);
    void act(const core::act::arm_timer &a);
    void act(const core::act::disarm_timer &a);
    void act(const core::act::create_lane &a);
    void act(const core::act::connect_lane &a);
    void act(const core::act::lane_live &a);
    void act(const core::act::gate_lane &a);
    void act(const core::act::quiesce_lane &a);
    void act(const core::act::drain_receives &a);
    void act(const core::act::read_token &a);
    void act(const core::act::purge_lane &a);
    void act(const core::act::release_lane &a);
    void act(const core::act::post_nop &a);
    void act(const core::act::check_stuck &a);
    void act(const core::act::await_idle &a);
    void act(const core::act::refresh_address &a);
    void act(const core::act::run_probe &a);
    void act(const core::act::rail_changed &a);
    void act(const core::act::fragment_done &a);
    void act(const core::act::replay_ready &a);
    void act(const core::act::incoming_ep &a);
    void act(const core::act::ep_error &a);
    void act(const core::act::peer_transfers_dead &a);
    void act(const core::act::ep_closed &a);
    void act(const core::act::admin_done &a);
    static void on_timer(void *arg, std::uint64_t now_ns);
    void rearm();

    worker &worker_;
    worker_address address_;
    bool starter_;
    core::config cfg_;
    core::peer core_;
    std::vector<core::rail_id> matched_;
    core::action_list actions_;
    std::size_t next_action_ = 0; // to be run
    peer *twin_ = nullptr;
    const char *death_ = ""; // static
    bool starved_ = false;
    std::uint64_t next_connection_ = 1;
    std::map<core::ep_id, ep *> eps_; // by own id
    // The peer's eps that had one here which was closed: a late message of theirs makes no other.
    static constexpr std::size_t max_gone = 1024;
    std::deque<core::ep_id> gone_;
    struct by_rail {
        bool operator()(const core::lane_ref &a, const core::lane_ref &b) const
        {
            return std::tie(a.rail, a.ep, a.epoch) < std::tie(b.rail, b.ep, b.epoch);
        }
    };
    std::map<core::lane_ref, ucs::owner<lane>, by_rail> lanes_;
    std::vector<ucs::owner<prober>> probers_;
    std::vector<core::rail_id> awaiting_idle_;
    core::time_ns none_up_since_ = 0; // 0: a rail is UP
    core::timer_set timers_;
    ucs::timer wake_;
    std::map<question, std::unique_ptr<resent>> resents_;
    std::uint16_t frames_sent_ = 0; // over lanes
    std::map<core::rail_id, control_receiver> frames_in_;
    std::map<unsigned, published> published_;   // by own port
    std::uint64_t addr_serial_ = 0;             // of the last ADDR
    std::map<unsigned, std::uint64_t> learned_; // newest serial, by the peer's port
};

} // namespace ufx::ucp

#endif
