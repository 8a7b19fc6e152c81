// SPDX-License-Identifier: BSD-3-Clause
// Control messages: what copies and destroys them, their names and those of refusal codes.
#include "ucp/core/control_msg.h"

namespace ufx::ucp::core {

control_msg::control_msg() noexcept = default;
control_msg::control_msg(const control_msg &) = default;
control_msg::control_msg(control_msg &&) noexcept = default;
control_msg &control_msg::operator=(const control_msg &) = default;
control_msg &control_msg::operator=(control_msg &&) noexcept = default;
control_msg::~control_msg() = default;

namespace {

struct refusal_row {
    const char *name;
    const char *text;
};

constexpr refusal_row refusals[] = {
    {"NONE", "not refused"},
    {"NOT_READY", "the peer is not ready for this lane yet; it will be tried again"},
    {"STALE_EPOCH", "the peer knows a newer lane than this one; a newer epoch will be tried"},
    {"DEVICE_DOWN", "the peer's device could not make an endpoint; it will be tried again"},
    {"RAIL_NOT_UP", "the peer does not use this rail now; tried again after the hold-off"},
    {"DAMPED", "the peer holds this rail off after failures; tried again after the given time"},
    {"NO_SUCH_RAIL", "the peer has no such rail"},
    {"LANE_COUNT_MISMATCH", "the two sides want different numbers of lanes"},
    {"MODE", "the two sides of the endpoint have different error modes"},
    {"VERSION", "the peer speaks another version of the control protocol"},
    {"BAD_ADDRESS", "the peer could not use the address in the request; addresses are refreshed"},
    {"EP_CLOSING", "the peer is closing this endpoint"},
    {"EP_GONE", "the peer has closed this endpoint"},
    {"RESOURCE", "the peer is out of memory or queues; it will be tried again"},
    {"INTERNAL", "the peer failed for a reason of its own; its log says which"},
    {"BY_USER", "the program at the peer does not want this connection"},
};
static_assert(std::size(refusals) == static_cast<std::size_t>(refusal::COUNT));

const refusal_row &row_of(refusal code)
{
    static constexpr refusal_row unknown = {"UNKNOWN", "a refusal code this version does not know"};
    const auto i = static_cast<std::size_t>(code);
    return i < std::size(refusals) ? refusals[i] : unknown;
}

} // namespace

const char *name_of(refusal code)
{
    return row_of(code).name;
}

const char *text_of(refusal code)
{
    return row_of(code).text;
}

bool is_final(refusal code)
{
    switch (code) {
    case refusal::MODE:
    case refusal::VERSION:
    case refusal::EP_CLOSING:
    case refusal::EP_GONE:
    case refusal::LANE_COUNT_MISMATCH:
    case refusal::BY_USER:
        return true;
    default:
        return false;
    }
}

const char *name_of(const control_msg &msg)
{
    static constexpr const char *names[] = {
        "HELLO",    "SUSPECT_HINT", "SEAL",         "SEAL_ACK",    "LANE_WANT",  "LANE_REQ",
        "LANE_REP", "LANE_READY",   "LANE_REFUSED", "PROBE_OK",    "ADDR",       "ADDR_ACK",
        "RKEY_REQ", "RKEY_REP",     "REVOKE",       "REVOKE_ACK",  "WINDOW_REQ", "WINDOW_ACK",
        "ADMIN",    "ADMIN_ACK",    "EP_CLOSE",     "EP_CLOSE_ACK"};
    static_assert(std::size(names) == std::variant_size_v<control_variant>);
    return names[msg.index()];
}

} // namespace ufx::ucp::core
