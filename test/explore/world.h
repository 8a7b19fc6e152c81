// SPDX-License-Identifier: BSD-3-Clause
// The explored world: two peers with the very core that ucp links, lane models, and lossy messages.
#ifndef UFX_EXPLORE_WORLD_H
#define UFX_EXPLORE_WORLD_H

#include "coverage.h"
#include "scenario.h"

#include "ucp/core/flush_gate.h"
#include "ucp/core/op_state.h"
#include "ucp/core/peer.h"

#include <functional>
#include <string>
#include <vector>

namespace ufx::explore {

namespace core = ufx::ucp::core;

// POST of the next AM fragment, whichever op it belongs to.
inline constexpr std::uint8_t any_am = 255;

// One packet of an op. `part`: byte of a PUT, fragment of an AM.
struct packet {
    plan_kind kind{};
    std::uint8_t op = 0;
    std::uint8_t part = 0;
    bool skip = false;
    bool last = false; // of its record
    core::am_number number = 0;
    core::am_number first = 0;
    std::uint32_t count = 0;
    core::am_number ack = 0; // AM: the sender's own window
};

// One outstanding op of a uct ep: what outstanding_purge hands out.
struct record {
    plan_kind kind{};
    std::uint8_t op = 0;
    std::uint8_t part = 0;    // AM: fragment
    std::uint8_t from = 0;    // PUT: first byte
    std::uint8_t packets = 1; // sequence numbers that it uses
    std::uint8_t start = 0;   // the first of them
    std::uint8_t replays = 0;
    bool skip = false;
    core::am_number number = 0;
    std::uint32_t serial = 0; // generation of the slot that a completion names
};

// One direction of a lane.
struct pipe {
    std::vector<packet> wire;       // posted and not yet at the receiver
    std::vector<record> posted;     // at the sender, without completion
    std::vector<packet> receive_cq; // at the receiver, not yet polled
    std::uint8_t sent = 0;          // sequence numbers used
    std::uint8_t applied = 0;       // the receiver's next expected one
};

// WEDGED: sealed with grade OPEN, because the QP would not close; what is on the wire still
// arrives.
enum class end_state : std::uint8_t { NONE, CREATING, CLOSED, OPEN, ERROR, QUIET, WEDGED, GONE };

struct link {
    core::lane_ref ref;
    end_state ends[2]{};
    bool connecting[2]{};
    bool quiescing[2]{};
    bool nop[2]{};
    bool blind[2]{};
    bool by_error[2]{}; // the QP was in ERR by itself
    bool wedged[2]{};   // it will not close
    bool released[2]{}; // the core needs it no more, wedged or not
    pipe from[2];       // from[s]: what side s sends

    bool is_probe() const { return ref.ep == 0; }
};

// What a user's op went through, seen from above.
struct op_watch {
    core::op_state state;
    core::am_number first = 0; // AM
    bool unposted = true;      // PUT, GET: never posted yet
    bool wanted_end = false;   // canceled or past its deadline
    std::uint8_t applied[2]{}; // PUT: how often each byte was written
    bool data = false;         // GET
    std::uint8_t handled = 0;  // AM: handler runs
    std::uint8_t final_parts = 0;
    bool consumed = false;     // PUT: its notify was handled
    bool memory_final = false; // the completion said that remote memory is final
    bool blind = false;        // it was judged under BLIND or OPEN: a second write is allowed
    bool open = false;         // it was judged under OPEN
    core::flush_gate::generation generation = 0;
};

// A message of which something arrived and that was not handled yet.
struct inbox_entry {
    core::am_number first = 0;
    std::uint32_t count = 0;
    std::uint8_t op = 0;
    std::uint8_t held = 0; // fragments
    bool skip = false;     // one of them was a SKIP: it will not be handled
};

// What one side's user and executor keep of one ep.
struct ep_side {
    std::vector<inbox_entry> inbox;
    core::am_number handled_next = 0;
    core::group_id group = 0;
    bool group_open = false;
    core::flush_gate gate;
    std::optional<core::flush_gate::generation> flush;
    std::uint8_t lane_errors[2]{}; // own QP errors on that rail
    bool error = false;
    bool closing = false;
    bool closed = false;
};

struct side_state {
    side_state(const core::config &cfg, bool starter, std::size_t ep_count)
        : peer(cfg, starter), eps(ep_count)
    {
    }

    core::peer peer;
    std::vector<ep_side> eps; // ep 1 first
    std::vector<std::pair<core::timer_id, core::time_ns>> timers;
    bool dead_device[2]{};
    std::uint8_t probe_wanted[2]{}; // epoch of the probe that runs
    bool idle_wanted[2]{};
    bool blamed[2]{};  // something on this side's rail justifies a DRAINING
    bool drained[2]{}; // by the administrator
    bool killed = false;
    bool disowned = false; // it declared the peer dead and forgot the ep
};

class world {
public:
    world(const scenario &plan, coverage *seen);

    // Every step that may come next, in a fixed order.
    std::vector<event> enabled() const;
    // Does an enabled step.
    void apply(const event &e);
    // The same if it is enabled; false if it is not.
    bool try_apply(const event &e);
    // The first broken promise, or empty.
    const std::string &broken() const { return broken_; }

    // No more faults; rails heal; runs every step fairly, clocks in order, until nothing is left to
    // do. The promise that it then breaks (an op that hangs, a record kept, a rail not UP), or
    // empty.
    std::string settle();

    std::pair<std::uint64_t, std::uint64_t> hash() const;
    core::epoch_t highest_epoch() const;
    bool all_done() const;

private:
    struct message {
        std::uint8_t to;
        core::control_msg msg;
        std::string key; // its bytes: equal messages in flight are one
    };

    // world_exec.cpp, world_traffic.cpp: the executor and its lanes.
    void run(unsigned side);
    void act_on(unsigned side, const core::act::send &a);
    void act_on(unsigned side, const core::act::create_lane &a);
    void act_on(unsigned side, const core::act::connect_lane &a);
    void act_on(unsigned side, const core::act::quiesce_lane &a);
    void act_on(unsigned side, const core::act::drain_receives &a);
    void act_on(unsigned side, const core::act::read_token &a);
    void act_on(unsigned side, const core::act::purge_lane &a);
    void act_on(unsigned side, const core::act::release_lane &a);
    void act_on(unsigned side, const core::act::rail_changed &a);
    void act_on(unsigned side, const core::act::fragment_done &a);
    void act_on(unsigned side, const core::act::ep_error &a);
    void act_on(unsigned side, const core::act::arm_timer &a);
    void act_on(unsigned side, const core::act::disarm_timer &a);
    void act_on(unsigned side, const core::act::post_nop &a);
    void act_on(unsigned side, const core::act::check_stuck &a);
    void act_on(unsigned side, const core::act::await_idle &a);
    void act_on(unsigned side, const core::act::refresh_address &a);
    void act_on(unsigned side, const core::act::run_probe &a);
    void act_on(unsigned side, const core::act::ep_closed &a);
    void act_on(unsigned, const core::act::lane_live &) {}
    void act_on(unsigned, const core::act::gate_lane &) {}
    void act_on(unsigned, const core::act::replay_ready &) {}
    void act_on(unsigned, const core::act::incoming_ep &) {}
    void act_on(unsigned, const core::act::peer_transfers_dead &) {}
    void act_on(unsigned, const core::act::admin_done &) {}
    void answer(std::function<void()> what) { answers_.push_back(std::move(what)); }
    core::verdict verdict_of(const record &r, const core::landed_position &landed) const;
    void created(unsigned side, link &l);
    void connected(unsigned side, link &l);
    void post(unsigned side, link &l, std::uint8_t op);
    void post_am(unsigned side, link &l, const core::am_tx::entry &e);
    void complete(unsigned side, link &l, const record &r);
    void arrive(unsigned side, link &l);
    void enter(unsigned side, link &l, const packet &p);
    void run_handlers(unsigned side);
    void run_handlers(unsigned side, core::ep &e);
    void handle(unsigned side, const core::ep &e, const inbox_entry &m);
    core::purged_op purged_op_of(unsigned side, const record &r,
                                 const core::landed_position &landed) const;
    void submit(std::uint8_t op);
    void end_op(std::uint8_t op, ufx_status_t status);

    // world_enabled.cpp, world_steps.cpp, world_run.cpp: the steps.
    void add_enabled(std::vector<event> &out, unsigned side) const;
    void add_link_steps(std::vector<event> &out, const link &l, unsigned side) const;
    void add_rail_steps(std::vector<event> &out, std::uint8_t rail, unsigned side) const;
    void add_faults(std::vector<event> &out) const;
    void add_side_faults(std::vector<event> &out, std::uint8_t side) const;
    void add_link_faults(std::vector<event> &out, const link &l, std::uint8_t side) const;
    void add_posts(std::vector<event> &out, unsigned side, const core::ep &e) const;
    bool allowed(step kind) const;
    void connect_all();
    void do_message(const event &e);
    using armed_timer = std::pair<core::timer_id, core::time_ns>;
    const armed_timer *armed(const event &e) const;
    void do_timer(const event &e);
    void do_lane(const event &e);
    void do_lane_fault(const event &e, link &l);
    void do_rail(const event &e);
    void do_rail_fault(const event &e);
    void do_user(const event &e);
    void complete_oldest(unsigned side, link &l);
    void progress(unsigned side, std::uint8_t rail);
    void kill_device(unsigned side, std::uint8_t rail);
    void kill_process(unsigned side);
    void lane_error(unsigned side, link &l, core::cause why);
    void cover_message(unsigned side, const core::control_msg &msg);
    std::optional<event> fair_step() const;
    bool retry_possible(const link &l, unsigned side) const;
    void blame(std::uint8_t rail);

    // world_check.cpp: promises.
    void fail(const std::string &what);
    void wrote(unsigned op, unsigned byte);
    void check_limit(const event &timer);
    void check_flush(unsigned side);
    void check_done(unsigned side, unsigned op, const core::act::fragment_done &a);
    std::string unfinished() const;
    std::string unfinished_op(unsigned op) const;
    std::string unfinished_ep(unsigned side, core::ep_id id) const;
    bool excused(unsigned side, unsigned op) const;
    bool locally_quiet(unsigned side, unsigned op, unsigned part) const;
    // It was not killed, and it has not forgotten the other side.
    bool lives(unsigned side) const
    {
        return !sides_[side].killed && !sides_[side].peer.eps().empty();
    }

    link *find_link(const core::lane_ref &ref);
    bool is_cut(core::rail_id rail) const { return cut_[rail][0] || cut_[rail][1]; }
    bool cut_towards(core::rail_id rail, unsigned side) const { return cut_[rail][side]; }
    const core::ep *ep_of(unsigned side, core::ep_id id) const
    {
        return sides_[side].peer.find_ep(id);
    }
    core::ep *ep_of(unsigned side, core::ep_id id) { return sides_[side].peer.find_ep(id); }
    ep_side &kept(unsigned side, core::ep_id id) { return sides_[side].eps[id - 1]; }
    const ep_side &kept(unsigned side, core::ep_id id) const { return sides_[side].eps[id - 1]; }
    void forget_peer(unsigned side);
    void drop_dead_links();

    const scenario *plan_;
    coverage *seen_;
    core::time_ns now_ = 0;
    std::vector<side_state> sides_;
    std::vector<link> links_;
    std::vector<message> net_;
    std::vector<op_watch> ops_;
    std::uint8_t faults_left_ = 0;
    std::uint8_t messages_left_ = 0;
    bool cut_[2][2]{}; // [rail][towards side]
    bool settling_ = false;
    std::uint32_t serial_ = 0;
    std::string broken_;

    // Scratch of run(), empty between steps.
    core::action_list actions_;
    std::vector<std::function<void()>> answers_;
};

} // namespace ufx::explore

#endif
