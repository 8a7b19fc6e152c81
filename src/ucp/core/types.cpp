// SPDX-License-Identifier: BSD-3-Clause
// Names and scopes of causes, grades, kinds and states, for logs and dumps.
#include "ucp/core/types.h"

#include "ucp/core/action.h"
#include "ucp/core/lane.h"

namespace ufx::ucp::core {

namespace {

struct cause_row {
    const char *name;
    scope reach;
};

constexpr cause_row causes[] = {
    {"NONE", scope::LANE},
    {"OWN_QP_ERROR", scope::LANE},
    {"PROTECTION", scope::LANE},
    {"RNR_EXC", scope::LANE},
    {"RETRY_EXC", scope::LANE},
    {"OP_DEADLINE", scope::LANE},
    {"CONNECTION_RESET", scope::LANE},
    {"STUCK_AFTER_FLAP", scope::LANE},
    {"EP_CLOSE", scope::LANE},
    {"ADMIN", scope::LANE},
    {"PEER_SEAL", scope::LANE},
    {"CONNECT_REFUSED", scope::RAIL},
    {"NET_TIMEOUT", scope::RAIL},
    {"NET_UNREACHABLE", scope::RAIL},
    {"PORT_DOWN", scope::RAIL},
    {"STALL", scope::RAIL},
    {"GRACE_OVER", scope::RAIL},
    {"DEVICE_FATAL", scope::RAIL},
    {"CQ_FATAL", scope::RAIL},
    {"ADDRESS_GONE", scope::RAIL},
    {"SECOND_QP_ERROR", scope::RAIL},
    {"UNEXPLAINED_RETRY", scope::RAIL},
    {"PEER_RAIL", scope::LANE}, // the peer drains that rail already
    {"PEER_HINT", scope::LANE},
    {"PEER_DEAD", scope::LANE},
    {"PEER_CLOSED", scope::LANE},
    {"PEER_GAVE_UP", scope::LANE},
    {"REPLAY_BUDGET", scope::LANE},
    {"REFUSED", scope::LANE},
    {"PROGRESS", scope::LANE},
    {"PORT_UP", scope::LANE},
    {"DRAINED", scope::LANE},
    {"HOLDOFF_OVER", scope::LANE},
    {"PROBE_OK", scope::LANE},
    {"PROBE_FAILED", scope::LANE},
    {"RESUME", scope::LANE},
    {"WIRED", scope::LANE},
};
static_assert(std::size(causes) == static_cast<std::size_t>(cause::COUNT));

template <class E, std::size_t N>
const char *pick(const char *const (&names)[N], E value)
{
    const auto i = static_cast<std::size_t>(value);
    return i < N ? names[i] : "?";
}

} // namespace

scope scope_of(cause why)
{
    const auto i = static_cast<std::size_t>(why);
    return i < std::size(causes) ? causes[i].reach : scope::LANE;
}

const char *name_of(cause why)
{
    const auto i = static_cast<std::size_t>(why);
    return i < std::size(causes) ? causes[i].name : "?";
}

const char *name_of(grade g)
{
    static constexpr const char *names[] = {"EXACT", "BLIND", "OPEN"};
    return pick(names, g);
}

const char *name_of(op_kind kind)
{
    static constexpr const char *names[] = {"PUT", "GET", "AM", "SKIP", "NOP"};
    return pick(names, kind);
}

const char *name_of(rail_state state)
{
    static constexpr const char *names[] = {"UP", "SUSPECT", "DRAINING", "DOWN", "PROBING"};
    return pick(names, state);
}

const char *name_of(lane_state state)
{
    static constexpr const char *names[] = {"GONE",      "SHAKING", "LIVE",  "SEALING",
                                            "SEAL_SENT", "JUDGING", "PURGED"};
    return pick(names, state);
}

const char *name_of(shake_step step)
{
    static constexpr const char *names[] = {"NONE",     "WANTING",    "CREATING",
                                            "REQ_SENT", "CONNECTING", "REP_SENT"};
    return pick(names, step);
}

} // namespace ufx::ucp::core
