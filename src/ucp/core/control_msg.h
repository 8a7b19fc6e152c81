// SPDX-License-Identifier: BSD-3-Clause
// Every control message as a plain struct: what two workers say to each other outside AM order.
//
// All are idempotent. Each is resent until it is answered: HELLO by HELLO, SEAL by SEAL_ACK,
// LANE_WANT by LANE_REQ or LANE_REFUSED, LANE_REQ by LANE_REP or LANE_REFUSED, LANE_REP by
// LANE_READY, SEAL or LANE_REFUSED, PROBE_OK by the peer's PROBE_OK while PROBING, WINDOW_REQ by
// WINDOW_ACK, X by X_ACK (X_REP) for the rest. SUSPECT_HINT is only a hint.
// `src_ep` is always the sender's id of the ep, `dst_ep` the receiver's (0 = not known, or a probe
// lane, which has no ep).
#ifndef UFX_UCP_CORE_CONTROL_MSG_H
#define UFX_UCP_CORE_CONTROL_MSG_H

#include "ucp/core/types.h"
#include "ucp/core/window.h"

#include <variant>
#include <vector>

namespace ufx::ucp::core {

inline constexpr std::uint8_t control_version = 1;
inline constexpr std::size_t max_hello_bytes = 4096; // worker address
inline constexpr std::size_t max_rkey_bytes = 255;
inline constexpr unsigned max_wire_rails = 64;

// Row T08: why a handshake was refused. Values never change.
enum class refusal : std::uint8_t {
    NONE = 0,
    NOT_READY = 1,
    STALE_EPOCH = 2,
    DEVICE_DOWN = 3,
    RAIL_NOT_UP = 4,
    DAMPED = 5,
    NO_SUCH_RAIL = 6,
    LANE_COUNT_MISMATCH = 7,
    MODE = 8,
    VERSION = 9,
    BAD_ADDRESS = 10,
    EP_CLOSING = 11,
    EP_GONE = 12,
    RESOURCE = 13,
    INTERNAL = 14,
    BY_USER = 15,
    COUNT
};
const char *name_of(refusal code);
// One sentence for people.
const char *text_of(refusal code);
// MODE, VERSION, EP_CLOSING, EP_GONE, LANE_COUNT_MISMATCH, BY_USER end the ep; the others are
// retried.
bool is_final(refusal code);

enum class error_mode : std::uint8_t { NONE, PEER, FAILOVER };

// Names one lane from the sender's side.
struct lane_name {
    ep_id src_ep = 0;
    ep_id dst_ep = 0;
    rail_id rail = 0;
    epoch_t epoch = 0;
    bool operator==(const lane_name &) const = default;
};

struct hello_msg {
    std::uint16_t min_version = control_version;
    std::uint16_t max_version = control_version;
    bool is_reply = false;
    std::vector<std::uint8_t> address; // the sender's worker address, at most max_hello_bytes
    bool operator==(const hello_msg &) const = default;
};

struct suspect_hint_msg {
    rail_id rail = 0;
    bool operator==(const suspect_hint_msg &) const = default;
};

// One lane is closed at the sender: nothing more can land here through it, and this is how much
// did. A rail's death is one SEAL per lane: each lane gets quiet by itself and waits for no other.
struct seal_msg {
    std::uint64_t seal_id = 0; // the sender's name for this seal record
    lane_name lane;
    core::scope scope = scope::LANE;
    cause why = cause::NONE;
    bool own_error = false; // the QP was in ERR before the seal, not by RETRY_EXC
    bool ep_gone = false;   // the ep existed here and was closed
    landed_position landed;
    core::window window; // of the ep, decides only fragments posted on `lane`
    bool operator==(const seal_msg &) const = default;
};
struct seal_ack_msg {
    std::uint64_t seal_id = 0;
    bool operator==(const seal_ack_msg &) const = default;
};

// LANE_WANT asks the smaller uuid to start; `lane.epoch` is the highest that the sender knows.
struct lane_want_msg {
    lane_name lane;
    std::uint64_t connection = 0; // pairs two eps that were created to each other at once
    error_mode mode = error_mode::FAILOVER;
    bool operator==(const lane_want_msg &) const = default;
};
struct lane_req_msg {
    lane_name lane;
    std::uint64_t connection = 0;
    error_mode mode = error_mode::FAILOVER;
    lane_address address;
    token tx; // names the sender's uct ep at the receiver
    bool operator==(const lane_req_msg &) const = default;
};
struct lane_rep_msg {
    lane_name lane;
    lane_address address;
    token tx;
    bool operator==(const lane_rep_msg &) const = default;
};
struct lane_ready_msg {
    lane_name lane;
    bool operator==(const lane_ready_msg &) const = default;
};
struct lane_refused_msg {
    lane_name lane;
    refusal code = refusal::NONE;
    bool of_want = false;             // answers a WANT, not a REQ or REP
    epoch_t highest = 0;              // the highest epoch that the sender knows of this lane
    std::uint32_t retry_after_ms = 0; // DAMPED only
    bool operator==(const lane_refused_msg &) const = default;
};

struct probe_ok_msg {
    rail_id rail = 0;
    epoch_t epoch = 0;      // of the probe lane
    bool is_answer = false; // answers are not answered
    bool operator==(const probe_ok_msg &) const = default;
};

struct addr_msg {
    std::uint64_t serial = 0;
    rail_id rail = 0;
    lane_address address;
    bool operator==(const addr_msg &) const = default;
};
struct addr_ack_msg {
    std::uint64_t serial = 0;
    bool operator==(const addr_ack_msg &) const = default;
};

struct rkey_req_msg {
    std::uint64_t memory_id = 0;
    rail_id rail = 0;
    std::uint32_t generation = 0; // the stale one that the sender holds
    bool operator==(const rkey_req_msg &) const = default;
};
struct rkey_rep_msg {
    std::uint64_t memory_id = 0;
    rail_id rail = 0;
    std::uint32_t asked = 0; // RKEY_REQ's generation
    std::uint32_t generation = 0;
    bool found = false; // false: no such memory, rkey empty
    blob<max_rkey_bytes> rkey;
    bool operator==(const rkey_rep_msg &) const = default;
};

struct revoke_msg {
    ep_id src_ep = 0;
    ep_id dst_ep = 0;
    std::uint64_t rendezvous = 0;
    bool operator==(const revoke_msg &) const = default;
};
struct revoke_ack_msg {
    ep_id src_ep = 0;
    ep_id dst_ep = 0;
    std::uint64_t rendezvous = 0;
    bool operator==(const revoke_ack_msg &) const = default;
};

struct window_req_msg {
    ep_id src_ep = 0;
    ep_id dst_ep = 0;
    bool operator==(const window_req_msg &) const = default;
};
// How many AM fragments were taken from a lane; one that was taken and is not covered was refused.
struct lane_taken {
    rail_id rail = 0;
    epoch_t epoch = 0;
    std::uint32_t count = 0;
    bool operator==(const lane_taken &) const = default;
};
struct window_ack_msg {
    ep_id src_ep = 0;
    ep_id dst_ep = 0;
    core::window window;
    std::vector<lane_taken> taken; // at most max_wire_rails
    bool operator==(const window_ack_msg &) const = default;
};

enum class admin_action : std::uint8_t { DRAIN, RESUME };
struct admin_msg {
    std::uint64_t serial = 0;
    rail_id rail = 0;
    admin_action action = admin_action::DRAIN;
    bool operator==(const admin_msg &) const = default;
};
// Answers DRAIN once the sender's own ops on that rail are finished.
struct admin_ack_msg {
    std::uint64_t serial = 0;
    rail_id rail = 0;
    bool operator==(const admin_ack_msg &) const = default;
};

struct ep_close_msg {
    ep_id src_ep = 0;
    ep_id dst_ep = 0;
    bool is_cut = false; // operations of the sender did not end by themselves
    core::window window;
    bool operator==(const ep_close_msg &) const = default;
};
struct ep_close_ack_msg {
    ep_id src_ep = 0;
    ep_id dst_ep = 0;
    core::window window;
    bool operator==(const ep_close_ack_msg &) const = default;
};

// The order is the wire's type byte (1 = HELLO): append only.
using control_variant =
    std::variant<hello_msg, suspect_hint_msg, seal_msg, seal_ack_msg, lane_want_msg, lane_req_msg,
                 lane_rep_msg, lane_ready_msg, lane_refused_msg, probe_ok_msg, addr_msg,
                 addr_ack_msg, rkey_req_msg, rkey_rep_msg, revoke_msg, revoke_ack_msg,
                 window_req_msg, window_ack_msg, admin_msg, admin_ack_msg, ep_close_msg,
                 ep_close_ack_msg>;

// A class of its own, so that what copies and destroys so many alternatives is compiled once.
struct control_msg : control_variant {
    using control_variant::control_variant;
    control_msg() noexcept;
    control_msg(const control_msg &);
    control_msg(control_msg &&) noexcept;
    control_msg &operator=(const control_msg &);
    control_msg &operator=(control_msg &&) noexcept;
    ~control_msg();
};

const char *name_of(const control_msg &msg);

} // namespace ufx::ucp::core

#endif
