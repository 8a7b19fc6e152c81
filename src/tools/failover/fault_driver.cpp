// SPDX-License-Identifier: BSD-3-Clause
// Faults on time.
#include "tools/failover/fault_driver.h"

#include "tools/common/error.h"
#include "tools/common/units.h"
#include "tools/failover/hca_faults.h"

#include <cstdlib>

namespace ufx::tools::failover {

namespace {

constexpr const char *WRONG_NEIGHBOUR = "02:00:00:00:00:99"; // locally administered, nobody's
constexpr uint64_t TRAFFIC_PATIENCE_NS = 200'000'000;

unsigned index_of(const std::string &rail, const std::vector<ufx_ucp_rail_attr_t> &rails)
{
    for (unsigned i = 0; i < rails.size(); i++) {
        if (rail == rails[i].name || rail == "rail" + std::to_string(i)) {
            return i;
        }
    }
    std::string known;
    for (unsigned i = 0; i < rails.size(); i++) {
        known += (i == 0 ? "" : ", ") + ("rail" + std::to_string(i)) + " = " + rails[i].name;
    }
    throw usage_error("--fault: there is no rail '" + rail + "' (there are " + known + ")");
}

} // namespace

fault_driver::fault_driver(const std::vector<fault> &faults, const namespaces *inside,
                           ucp_session &session, channel &peer)
    : inside_(inside), fabric_(inside == nullptr ? own_fabric() : ""), session_(session),
      peer_(peer)
{
    const std::vector<ufx_ucp_rail_attr_t> rails = session.rails();
    std::vector<rail_step> steps;
    for (const fault &one : faults) {
        left_.push_back({one, index_of(one.rail, rails)});
        check_possible(one, rails[left_.back().rail]);
        steps.push_back({one.action, left_.back().rail});
    }
    const std::string impossible = why_impossible(steps);
    if (!impossible.empty()) {
        throw usage_error("--fault: this schedule cannot be followed: " + impossible);
    }
    const std::string why = faults.empty() ? "" : why_hopeless(steps, rails.size());
    if (!why.empty()) {
        throw usage_error("--fault: nobody can survive this schedule: " + why);
    }
}

fault_driver::~fault_driver()
{
    try {
        reap(true);
    } catch (const tool_error &) {
        // The run is over: what failed late no longer matters.
    }
}

void fault_driver::tick(uint64_t now, timeline &story)
{
    reap(false);
    while (!left_.empty() && now - story.start_ns() >= left_.front().what.at_ns) {
        const step one = left_.front();
        if (would_hit_nothing(one, now - story.start_ns())) {
            return;
        }
        left_.pop_front();
        const words run = command(one);
        story.add(applied_fault{now_ns(), one.what.action, one.rail,
                                run.empty()
                                    ? std::string("rail") + std::to_string(one.rail) + " " +
                                          fault_action_name(one.what.action) + " in both processes"
                                    : show(run)});
        if (run.empty()) {
            set_link(one);
        } else {
            running_.push_back({start_program(run), show(run)});
        }
    }
}

void fault_driver::check_possible(const fault &one, const ufx_ucp_rail_attr_t &rail) const
{
    const std::string what = std::string("--fault: ") + fault_action_name(one.action);
    const bool is_hca = is_on_fabric(fabric_, rail);
    const bool is_hca_only =
        one.action == fault_action::SILENT || one.action == fault_action::RESET;
    if (is_hca_only && !is_hca) {
        throw usage_error(what + " is for rails of the software ConnectX (see ufx_swhca run)");
    }
    const bool is_simple = one.action == fault_action::DOWN || one.action == fault_action::UP;
    if (!is_simple && !is_hca && inside_ == nullptr) {
        throw usage_error(what + " needs network namespaces, which need root and both sides here, "
                                 "or a rail of the software ConnectX (see ufx_swhca run)");
    }
}

words fault_driver::command(const step &one) const
{
    if (inside_ != nullptr) {
        return namespace_command(one);
    }
    const ufx_ucp_rail_attr_t rail = session_.rails()[one.rail];
    return is_on_fabric(fabric_, rail) ? hca_command(fabric_, one.what.action, rail.name) : words();
}

words fault_driver::namespace_command(const step &one) const
{
    const std::string name = "rail" + std::to_string(one.rail);
    const words sender = {"ip", "-n", inside_->sender_name()};
    const words receiver = {"ip", "-n", inside_->receiver_name()};
    const auto with = [](words head, const words &tail) {
        head.insert(head.end(), tail.begin(), tail.end());
        return head;
    };
    const std::string neighbour = namespaces::sender_address(one.rail);
    switch (one.what.action) {
    case fault_action::DOWN:
        return with(sender, {"link", "set", name, "down"});
    case fault_action::UP:
        return with(sender, {"link", "set", name, "up"});
    case fault_action::DELETE:
        return with(sender, {"link", "del", name});
    case fault_action::ONEWAY:
        return with(receiver, {"neigh", "replace", neighbour, "lladdr", WRONG_NEIGHBOUR, "dev",
                               name, "nud", "permanent"});
    case fault_action::HEAL:
        return with(receiver, {"neigh", "del", neighbour, "dev", name});
    case fault_action::SILENT:
    case fault_action::RESET:
        break; // refused before
    }
    return {};
}

bool fault_driver::would_hit_nothing(const step &one, uint64_t since_start)
{
    return inside_ == nullptr && one.what.action == fault_action::DOWN &&
           since_start < one.what.at_ns + TRAFFIC_PATIENCE_NS &&
           session_.rails()[one.rail].outstanding == 0;
}

void fault_driver::set_link(const step &one)
{
    const bool up = !breaks(one.what.action);
    const std::string name = "rail" + std::to_string(one.rail);
    peer_.send(frame_type::FAULT, {{"rail", one.rail}, {"up", up}});
    check(ufx_ucp_rail_set_link(session_.worker(), name.c_str(), up ? 1 : 0),
          "cannot change " + name);
}

void fault_driver::reap(bool wait)
{
    while (!running_.empty()) {
        const running one = running_.front();
        if (!program_ended(one.pid, one.text, wait)) {
            return;
        }
        running_.pop_front();
    }
}

} // namespace ufx::tools::failover
