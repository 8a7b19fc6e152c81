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

bool is_timed_action(fault_action action) noexcept
{
    return action >= fault_action::PORT_DOWN;
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

// Counts a match, and says whether it is hit.
bool hits(core &world, fault_rule &rule) noexcept
{
    rule.seen++;
    if (rule.seen <= rule.skip || (rule.count != 0 && rule.hits >= rule.count)) {
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
    for (uint32_t i = 0; i < max_qps; i++) {
        if (world.shared.qps[i].in_use) {
            world.shared.pending.add(i);
        }
    }
}

void fail_queue_pairs(core &world, uint32_t hca, const fault_rule &rule) noexcept
{
    for (qp &one : world.shared.qps) {
        if (one.in_use && one.hca == hca && (rule.qpn == 0 || one.qpn == rule.qpn) &&
            one.state != IBV_QPS_RESET) {
            enter_error(world, one);
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
    case fault_action::EVENT:
        raise_injected_event(world, hca, rule.qpn, static_cast<uint32_t>(rule.param));
        break;
    case fault_action::SET_RATE:
        one.rate_bps = rule.param;
        break;
    case fault_action::SET_LATENCY:
        one.latency_ns = rule.param;
        break;
    case fault_action::SET_LID:
        set_lid(world, hca, static_cast<uint16_t>(rule.param), !rule.silent);
        break;
    case fault_action::SET_PKEY:
        set_pkey(world, hca, static_cast<uint32_t>(rule.param >> 16),
                 static_cast<uint16_t>(rule.param), !rule.silent);
        break;
    case fault_action::SET_GID:
        clear_gid(world, hca, static_cast<uint32_t>(rule.param), !rule.silent);
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
    bool receives = what.opcode != 0 && what.opcode != 13; // MLX5_CQE_REQ, MLX5_CQE_REQ_ERR
    return match(world, one.hca, one.qpn, [&](const fault_rule &rule) {
        return is_completion_action(rule.action) &&
               (rule.target == fault_target::ANY ||
                (rule.target == fault_target::RESPONSES) == receives);
    });
}

const fault_rule *match_command(core &world, uint32_t hca, uint32_t qpn,
                                fault_action action) noexcept
{
    return match(world, hca, qpn, [&](const fault_rule &rule) { return rule.action == action; });
}

bool match_swallow(core &world, const qp &one) noexcept
{
    for (uint32_t i = 0; i < world.shared.rule_count; i++) {
        fault_rule &rule = world.shared.rules[i];
        if (rule.action == fault_action::SWALLOW && concerns(world, rule, one.hca, one.qpn)) {
            rule.hits++;
            return true;
        }
    }
    return false;
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
        fault_rule rule = shared.rules[i];
        if (!rule.in_use || !is_timed_action(rule.action)) {
            continue;
        }
        uint64_t due_ns = shared.epoch_ns + rule.from_ns;
        if (due_ns > world.now_ns) {
            next_ns = std::min(next_ns, due_ns);
            continue;
        }
        shared.rules[i].in_use = false;
        if (rule.action == fault_action::RELEASE) {
            release(world, rule);
        }
        for (uint32_t hca = 0; hca < shared.hca_count; hca++) {
            if (rule.hca < 0 || static_cast<uint32_t>(rule.hca) == hca) {
                carry_out(world, hca, rule);
            }
        }
    }
    while (shared.rule_count > 0 && !shared.rules[shared.rule_count - 1].in_use) {
        shared.rule_count--;
    }
    return next_ns;
}

} // namespace ufx::swhca
