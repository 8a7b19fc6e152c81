// SPDX-License-Identifier: BSD-3-Clause
// Matching and carrying out rules.
#include "faults.h"

#include "swhca/engine/link.h"
#include "swhca/model/device.h"
#include "swhca/model/queue_pair.h"

#include "ucs/prng.h"

#include <algorithm>
#include <cerrno>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

bool is_packet_action(fault_action action) noexcept
{
    return action >= fault_action::DROP && action <= fault_action::STRAY_WRITE;
}

bool is_completion_action(fault_action action) noexcept
{
    return action >= fault_action::HOLD_CQE && action <= fault_action::ERROR_CQE;
}

bool in_time(const core &world, const fault_rule &rule) noexcept
{
    uint64_t since = world.now_ns - world.shared.epoch_ns;
    return since >= rule.from_ns && (rule.until_ns == 0 || since < rule.until_ns);
}

bool concerns(const core &world, const fault_rule &rule, uint32_t hca, uint32_t qpn) noexcept
{
    return rule.in_use && (rule.hca < 0 || static_cast<uint32_t>(rule.hca) == hca) &&
           (rule.qpn == 0 || rule.qpn == qpn) && in_time(world, rule);
}

bool is_counted_out(const fault_rule &rule) noexcept
{
    return rule.count != 0 && rule.hits >= rule.count;
}

// Counts a match, and says whether it is hit. A rule whose count is reached is spent; one that
// swallows has still to end what it did.
bool hits(core &world, fault_rule &rule) noexcept
{
    if (is_counted_out(rule)) {
        return false;
    }
    rule.seen++;
    if (rule.seen <= rule.skip) {
        return false;
    }
    if (rule.probability != UINT32_MAX) {
        ucs::prng random(world.shared.seed_state);
        auto drawn = static_cast<uint32_t>(random.next() >> 32);
        world.shared.seed_state += 0x9e3779b97f4a7c15u; // one step of the generator
        if (drawn >= rule.probability) {
            return false;
        }
    }
    rule.hits++;
    bool ends_later = rule.action == fault_action::SWALLOW && rule.until_ns != 0;
    rule.in_use = !is_counted_out(rule) || ends_later;
    return true;
}

template <class Wanted>
const fault_rule *match(core &world, uint32_t hca, uint32_t qpn, Wanted wanted) noexcept
{
    for (uint32_t i = 0; i < world.shared.rule_count; i++) {
        fault_rule &rule = world.shared.rules[i];
        if (wanted(rule) && concerns(world, rule, hca, qpn) && hits(world, rule)) {
            return &rule;
        }
    }
    return nullptr;
}

// What was posted to swallowed QPs is seen now.
void wake_swallowed(core &world, int hca, uint32_t qpn) noexcept
{
    for (uint32_t i = 0; i < world.shared.qps_used; i++) {
        qp &one = world.shared.qps[i];
        if (one.in_use && one.swallowed && (hca < 0 || one.hca == hca) &&
            (qpn == 0 || one.qpn == qpn)) {
            one.swallowed = false;
            world.shared.pending.add(i);
        }
    }
}

void release(core &world, const fault_rule &rule) noexcept
{
    for (uint32_t i = 0; i < world.shared.rule_count; i++) {
        fault_rule &other = world.shared.rules[i];
        bool keeps = other.action == fault_action::HOLD || other.action == fault_action::SWALLOW;
        if (keeps && (rule.hca < 0 || other.hca < 0 || rule.hca == other.hca)) {
            other.in_use = false;
        }
    }
    release_held_packets(world, rule.hca);
    wake_swallowed(world, rule.hca, 0);
}

// A rule whose time is over does nothing more; what it swallowed comes alive.
void expire(core &world, fault_rule &rule) noexcept
{
    rule.in_use = false;
    if (rule.action == fault_action::SWALLOW) {
        wake_swallowed(world, rule.hca, rule.qpn);
    }
}

void fail_queue_pairs(core &world, uint32_t hca, const fault_rule &rule) noexcept
{
    for (qp &one : used_qps(world.shared)) {
        if (one.in_use && one.hca == hca && (rule.qpn == 0 || one.qpn == rule.qpn) &&
            one.state != IBV_QPS_RESET) {
            if (world.memory.reaches(one.process)) {
                enter_error(world, one);
            } else { // at its next turn, by an engine that can flush it
                one.cqe_failed = one.state != IBV_QPS_ERR;
                world.shared.pending.add(world.index_of(one));
            }
        }
    }
}

void stall_queues(core &world, uint32_t hca, const fault_rule &rule, bool stalled) noexcept
{
    for (uint32_t i = 0; i < max_cqs; i++) {
        cq &one = world.shared.cqs[i];
        if (one.in_use && world.shared.contexts[one.context].hca == hca &&
            (rule.param == 0 || rule.param == i + 1)) {
            one.stalled = stalled;
        }
    }
}

void carry_out(core &world, uint32_t hca, const fault_rule &rule) noexcept
{
    port &one = world.shared.hcas[hca].port;
    switch (rule.action) {
    case fault_action::PORT_DOWN:
    case fault_action::PORT_UP:
        set_port_state(world, hca, rule.action == fault_action::PORT_UP, !rule.silent);
        break;
    case fault_action::DEVICE_FATAL:
        fail_device(world, hca);
        break;
    case fault_action::DEVICE_RESET:
        reset_device(world, hca);
        break;
    case fault_action::EVENT:
        raise_injected_event(world, hca, rule.qpn, static_cast<uint32_t>(rule.param));
        break;
    case fault_action::SET_RATE:
        one.rate_bps = rule.param;
        break;
    case fault_action::SET_LATENCY:
        one.latency_ns = rule.param;
        break;
    case fault_action::SCATTER_TO_CQE:
        world.shared.hcas[hca].scatter_to_cqe = rule.param != 0;
        break;
    case fault_action::SET_LID:
        set_lid(world, hca, static_cast<uint16_t>(rule.param), !rule.silent);
        break;
    case fault_action::SET_PKEY:
        set_pkey(world, hca, static_cast<uint32_t>(rule.param >> 16),
                 static_cast<uint16_t>(rule.param), !rule.silent);
        break;
    case fault_action::SET_GID:
        set_gid(world, hca, static_cast<uint32_t>(rule.param), rule.address, !rule.silent);
        break;
    case fault_action::HOST_DEATH:
        kill_users(world, hca);
        break;
    case fault_action::QP_ERROR:
        fail_queue_pairs(world, hca, rule);
        break;
    case fault_action::STALL_CQ:
    case fault_action::UNSTALL_CQ:
        stall_queues(world, hca, rule, rule.action == fault_action::STALL_CQ);
        break;
    default:
        break;
    }
}

void happen(core &world, fault_rule &rule) noexcept
{
    if (!hits(world, rule)) {
        return;
    }
    fault_rule what = rule; // a release takes others away
    if (what.action == fault_action::RELEASE) {
        release(world, what);
    }
    for (uint32_t hca = 0; hca < world.shared.hca_count; hca++) {
        if (what.hca < 0 || static_cast<uint32_t>(what.hca) == hca) {
            carry_out(world, hca, what);
        }
    }
}

// Carries out a timed rule as often as it is due.
void run_timed(core &world, fault_rule &rule) noexcept
{
    uint64_t since = world.now_ns - world.shared.epoch_ns;
    while (rule.in_use && rule.from_ns <= since) {
        bool again = rule.every_ns > 0;
        rule.from_ns += rule.every_ns;
        happen(world, rule);
        rule.in_use = rule.in_use && again && (rule.until_ns == 0 || rule.from_ns < rule.until_ns);
    }
}

} // namespace

const fault_rule *match_packet(core &world, const packet &what) noexcept
{
    return match(world, what.src_hca, what.src_qpn, [&](const fault_rule &rule) {
        bool request = is_request(what.kind);
        return is_packet_action(rule.action) &&
               (rule.target == fault_target::ANY ||
                (rule.target == fault_target::REQUESTS) == request);
    });
}

const fault_rule *match_completion(core &world, const qp &one, const completion &what) noexcept
{
    return match(world, one.hca, one.qpn, [&](const fault_rule &rule) {
        return is_completion_action(rule.action) &&
               (rule.target == fault_target::ANY ||
                (rule.target == fault_target::REQUESTS) == is_of_request(what.opcode));
    });
}

const fault_rule *match_command(core &world, uint32_t hca, uint32_t qpn, fault_action action,
                                int state) noexcept
{
    if (world.shared.rule_count == 0) {
        return nullptr;
    }
    return match(world, hca, qpn, [&](const fault_rule &rule) {
        return rule.action == action && (rule.state == any_state || rule.state == state);
    });
}

int injected_errno(core &world, uint32_t hca, uint32_t qpn, fault_action action, int state) noexcept
{
    const fault_rule *rule = match_command(world, hca, qpn, action, state);
    return rule == nullptr ? 0 : static_cast<int>(rule->param);
}

bool swallows(core &world, qp &one) noexcept
{
    if (!one.swallowed && world.shared.rule_count > 0) {
        one.swallowed = match(world, one.hca, one.qpn, [](const fault_rule &rule) {
                            return rule.action == fault_action::SWALLOW;
                        }) != nullptr;
    }
    return one.swallowed;
}

int add_rule(core &world, const fault_rule &rule) noexcept
{
    image &shared = world.shared;
    auto *end = shared.rules + shared.rule_count;
    auto *slot = std::find_if(shared.rules, end, [](const fault_rule &one) { return !one.in_use; });
    if (slot == end) {
        if (shared.rule_count == max_rules) {
            return ENOSPC;
        }
        shared.rule_count++;
    }
    *slot = rule;
    slot->in_use = true;
    slot->seen = slot->hits = 0;
    return 0;
}

void clear_rules(core &world) noexcept
{
    std::fill(std::begin(world.shared.rules), std::end(world.shared.rules), fault_rule{});
    world.shared.rule_count = 0;
    fault_rule every{};
    every.hca = -1;
    release(world, every);
}

uint64_t run_timed_rules(core &world) noexcept
{
    uint64_t next_ns = UINT64_MAX;
    image &shared = world.shared;
    for (uint32_t i = 0; i < shared.rule_count; i++) {
        fault_rule &rule = shared.rules[i];
        if (is_timed(rule.action)) {
            run_timed(world, rule);
        } else if (rule.in_use && rule.until_ns != 0 &&
                   world.now_ns - shared.epoch_ns >= rule.until_ns) {
            expire(world, rule);
        }
        uint64_t due_ns = is_timed(rule.action) ? rule.from_ns : rule.until_ns;
        if (rule.in_use && due_ns != 0) {
            next_ns = std::min(next_ns, shared.epoch_ns + due_ns);
        }
    }
    // Those that are spent at the end of the table cost nothing any more; it keeps their counts.
    while (shared.rule_count > 0 && !shared.rules[shared.rule_count - 1].in_use) {
        shared.rule_count--;
    }
    return next_ns;
}

} // namespace ufx::swhca
