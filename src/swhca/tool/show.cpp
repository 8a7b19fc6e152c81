// SPDX-License-Identifier: BSD-3-Clause
// One JSON value is made under the lock; the text is made from it.
#include "show.h"

#include "swhca/engine/membership.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/faults/schedule.h"

#include <cstdio>
#include <infiniband/verbs.h>
#include <nlohmann/json.hpp>

namespace ufx::swhca::tool {

namespace {

using json_value = nlohmann::ordered_json;

const char *state_name(uint8_t state)
{
    constexpr const char *names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return state < std::size(names) ? names[state] : "UNKNOWN";
}

json_value of_counters(const counters &from)
{
    return {{"sent", from.sent},
            {"received", from.received},
            {"dropped", from.dropped},
            {"retransmitted", from.retransmitted},
            {"acks", from.acks},
            {"naks", from.naks},
            {"rnrs", from.rnrs},
            {"timeouts", from.timeouts},
            {"duplicates", from.duplicates},
            {"inlined", from.inlined}};
}

std::string gid_text(const gid &one)
{
    std::string text;
    for (size_t i = 0; i < sizeof(one.raw); i++) {
        char room[4];
        std::snprintf(room, sizeof(room), "%s%02x", i > 0 && i % 2 == 0 ? ":" : "", one.raw[i]);
        text += room;
    }
    return text;
}

json_value of_qp(const image &shared, const qp &one)
{
    return {{"qpn", one.qpn},
            {"type", one.type == IBV_QPT_RC ? "RC" : "UD"},
            {"state", state_name(one.state)},
            {"pid", shared.processes[one.process].pid},
            {"dest_qpn", one.attr.dest_qpn},
            {"sq_psn", one.req.next_psn},
            {"unacked_psn", one.req.unacked_psn},
            {"rq_psn", one.resp.expected_psn},
            {"counters", of_counters(one.counters)}};
}

json_value of_hca(const image &shared, uint32_t index)
{
    const hca &one = shared.hcas[index];
    json_value gids = json_value::array();
    for (uint32_t i = 0; i < max_gids; i++) {
        if (one.port.gids[i] != gid{}) {
            gids.push_back({{"index", i}, {"gid", gid_text(one.port.gids[i])}});
        }
    }
    json_value qps = json_value::array();
    for (const qp &each : used_qps(shared)) {
        if (each.in_use && each.hca == index) {
            qps.push_back(of_qp(shared, each));
        }
    }
    bool ethernet = one.port.link_layer == IBV_LINK_LAYER_ETHERNET;
    return {{"name", "mlx5_" + std::to_string(index)},
            {"dead", one.dead},
            {"port",
             {{"state", one.port.state == IBV_PORT_ACTIVE ? "ACTIVE" : "DOWN"},
              {"link_layer", ethernet ? "Ethernet" : "InfiniBand"},
              {"mtu", 128u << one.port.mtu},
              {"lid", one.port.lid},
              {"rate_bps", one.port.rate_bps},
              {"latency_ns", one.port.latency_ns},
              {"gids", gids}}},
            {"counters", of_counters(one.counters)},
            {"qps", qps}};
}

const char *target_name(fault_target target)
{
    return target == fault_target::ANY        ? "any"
           : target == fault_target::REQUESTS ? "requests"
                                              : "responses";
}

json_value of_rule(const fault_rule &rule)
{
    constexpr uint32_t always = UINT32_MAX;
    json_value to = nullptr;
    if (rule.state != any_state) {
        to = state_name(static_cast<uint8_t>(rule.state));
    }
    return {{"action", action_name(rule.action)},
            {"spent", !rule.in_use},
            {"hca", rule.hca},
            {"qpn", rule.qpn},
            {"target", target_name(rule.target)},
            {"param", rule.param},
            {"to", to},
            {"at_ns", rule.from_ns},
            {"every_ns", rule.every_ns},
            {"until_ns", rule.until_ns},
            {"skip", rule.skip},
            {"count", rule.count},
            {"probability", rule.probability / double{always}},
            {"silent", rule.silent},
            {"text", rule_text(rule)},
            {"seen", rule.seen},
            {"hits", rule.hits}};
}

json_value of_rules(const image &shared)
{
    json_value rules = json_value::array();
    for (const fault_rule &rule : shared.rules) { // also those that are spent
        if (rule.action != fault_action::NONE) {
            rules.push_back(of_rule(rule));
        }
    }
    return rules;
}

json_value of_fabric(fabric_directory &where)
{
    image &shared = where.shared();
    (void)reap_dead(shared, no_index, time_of(shared));
    image_lock lock(shared);
    json_value processes = json_value::array();
    for (const process_slot &slot : shared.processes) {
        if (slot.in_use) {
            processes.push_back(
                {{"pid", slot.pid},
                 {"reachable", slot.refused_to.load(std::memory_order_relaxed) == 0}});
        }
    }
    json_value hcas = json_value::array();
    for (uint32_t i = 0; i < shared.hca_count; i++) {
        hcas.push_back(of_hca(shared, i));
    }
    return {{"directory", where.path().string()},
            {"age_ns", time_of(shared) - shared.epoch_ns},
            {"processes", processes},
            {"packets_under_way", shared.wire_used},
            {"rules", of_rules(shared)},
            {"hcas", hcas}};
}

std::string counters_text(const json_value &from)
{
    std::string text;
    for (const auto &[name, value] : from.items()) {
        if (value != 0) {
            text += " " + name + " " + value.dump();
        }
    }
    return text.empty() ? " none" : text;
}

std::string text_of(const json_value &all)
{
    constexpr uint64_t ns_per_ms = 1000000;
    std::string text = "fabric " + all["directory"].get<std::string>() + ", " +
                       std::to_string(all["age_ns"].get<uint64_t>() / ns_per_ms) + "ms old, " +
                       std::to_string(all["processes"].size()) + " processes, " +
                       all["packets_under_way"].dump() + " packets under way\n";
    for (const json_value &one : all["hcas"]) {
        const json_value &port = one["port"];
        text += one["name"].get<std::string>() + (one["dead"].get<bool>() ? " dead" : "") +
                "  port " + port["state"].get<std::string>() + ", " +
                port["link_layer"].get<std::string>() + ", mtu " + port["mtu"].dump() + ", lid " +
                port["lid"].dump() + "\n";
        for (const json_value &entry : port["gids"]) {
            text +=
                "    gid " + entry["index"].dump() + "  " + entry["gid"].get<std::string>() + "\n";
        }
        text += "    counters:" + counters_text(one["counters"]) + "\n";
        for (const json_value &each : one["qps"]) {
            text += "    qp " + each["qpn"].dump() + "  " + each["type"].get<std::string>() + " " +
                    each["state"].get<std::string>() + ", pid " + each["pid"].dump() +
                    ", dest_qpn " + each["dest_qpn"].dump() + ", sq_psn " + each["sq_psn"].dump() +
                    ", unacked_psn " + each["unacked_psn"].dump() + ", rq_psn " +
                    each["rq_psn"].dump() +
                    "\n        counters:" + counters_text(each["counters"]) + "\n";
        }
    }
    for (const json_value &rule : all["rules"]) {
        text += "rule '" + rule["text"].get<std::string>() + "'  seen " + rule["seen"].dump() +
                ", hits " + rule["hits"].dump() + (rule["spent"].get<bool>() ? ", spent" : "") +
                "\n";
    }
    return text;
}

} // namespace

std::string show(fabric_directory &where, bool json)
{
    json_value all = of_fabric(where);
    return json ? all.dump(2) + "\n" : text_of(all);
}

} // namespace ufx::swhca::tool
