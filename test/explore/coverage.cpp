// SPDX-License-Identifier: BSD-3-Clause
// Reached (state, event) pairs.
#include "coverage.h"

namespace ufx::explore {

namespace {

constexpr const char *lane_states[] = {
    "GONE",      "WANTING",     "CREATING",      "REQ_SENT",  "CONNECTING", "REP_SENT", "LIVE",
    "QUIESCING", "DRAINING_RX", "READING_TOKEN", "SEAL_SENT", "JUDGING",    "PURGED"};
constexpr const char *lane_events[] = {"LANE_WANT",    "LANE_REQ", "LANE_REP", "LANE_READY",
                                       "LANE_REFUSED", "SEAL",     "failed",   "timer"};
constexpr const char *rail_states[] = {"UP", "SUSPECT", "DRAINING", "DOWN", "PROBING"};
constexpr const char *rail_events[] = {"hard",     "soft",     "progress", "port", "grace",
                                       "hold-off", "PROBE_OK", "probe",    "admin"};

std::string state_of(const ucp::core::lane_slot &slot)
{
    using namespace ucp::core;
    if (slot.step() != shake_step::NONE) {
        return name_of(slot.step());
    }
    switch (slot.seal()) {
    case seal_step::QUIESCING:
        return "QUIESCING";
    case seal_step::DRAINING_RX:
        return "DRAINING_RX";
    case seal_step::READING_TOKEN:
        return "READING_TOKEN";
    case seal_step::NONE:
        break;
    }
    return name_of(slot.state());
}

} // namespace

void coverage::lane(const ucp::core::lane_slot *slot, const char *event)
{
    if (slot != nullptr) {
        ++hits_["lane " + state_of(*slot) + " " + event];
    }
}

void coverage::rail(const ucp::core::rail *rail, const char *event)
{
    if (rail != nullptr) {
        ++hits_["rail " + std::string(name_of(rail->state())) + " " + event];
    }
}

std::vector<std::string> coverage::unreached() const
{
    std::vector<std::string> missing;
    const auto look = [&](const std::string &pair) {
        if (!hits_.contains(pair)) {
            missing.push_back(pair);
        }
    };
    for (const char *state : lane_states) {
        for (const char *event : lane_events) {
            look(std::string("lane ") + state + " " + event);
        }
    }
    for (const char *state : rail_states) {
        for (const char *event : rail_events) {
            look(std::string("rail ") + state + " " + event);
        }
    }
    return missing;
}

} // namespace ufx::explore
