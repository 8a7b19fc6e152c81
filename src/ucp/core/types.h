// SPDX-License-Identifier: BSD-3-Clause
// Names and small value types that every part of the failover core shares.
#ifndef UFX_UCP_CORE_TYPES_H
#define UFX_UCP_CORE_TYPES_H

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace ufx::ucp::core {

using time_ns = std::uint64_t;   // a monotonic clock's nanoseconds; comes in with every event
using ep_id = std::uint64_t;     // an ep's id at the side that owns it; 0 = none or not known
using epoch_t = std::uint32_t;   // 0 = no lane yet; every lane of one (ep, rail) has its own
using am_number = std::uint64_t; // number of an AM fragment in its direction's sequence, from 0

// The highest that a message may carry. A new lane's epoch is one above all that are known: the lie
// of a peer cannot make it wrap.
inline constexpr epoch_t max_wire_epoch = 0x7fffffff;

// A rail's name is the same number on both sides: ucp forms it from (port of the smaller uuid,
// port of the larger uuid). It need not be dense.
using rail_id = std::uint16_t;
inline constexpr rail_id no_rail = 0xffff;

// Opaque bytes of bounded size that live inside messages and states (no allocation).
template <std::size_t N>
struct blob {
    std::uint8_t size = 0;
    std::array<std::uint8_t, N> bytes{};

    static_assert(N <= 255);
    std::span<const std::uint8_t> view() const { return {bytes.data(), size}; }
    // False, and no change, if `from` is longer than N.
    bool assign(std::span<const std::uint8_t> from)
    {
        if (from.size() > N) {
            return false;
        }
        size = static_cast<std::uint8_t>(from.size());
        bytes = {};
        if (!from.empty()) {
            std::memcpy(bytes.data(), from.data(), from.size());
        }
        return true;
    }
    bool operator==(const blob &) const = default;
};

using token = blob<64>;         // tx token or rx token of a uct ep
using lane_address = blob<128>; // what uct gives to connect an ep to an ep

enum class op_kind : std::uint8_t { PUT, GET, AM, SKIP, NOP };

// Trust in a token (docs/failover.md: EXACT, BLIND = nothing can land any more but the position is
// unknown, OPEN = the side that owes the token could not close its QP).
enum class grade : std::uint8_t { EXACT, BLIND, OPEN };

// What a side says about how far the other's fragments landed on a lane. `nothing` is the EXACT
// token of a lane through which nothing was received: every fragment is NOT_LANDED.
struct landed_position {
    core::grade grade = grade::EXACT;
    bool nothing = true;
    token rx;
    bool operator==(const landed_position &) const = default;
};

// uct's verdict on one outstanding fragment (the same order as uct's enum).
enum class verdict : std::uint8_t { LANDED, PARTIAL, NOT_LANDED, RESULT_LOST, UNKNOWN };

enum class scope : std::uint8_t { LANE, RAIL };

// Why a lane or a rail left its state. The name is in the log, in events, and in the transitions.
enum class cause : std::uint8_t {
    NONE,
    OWN_QP_ERROR,     // lane
    PROTECTION,       // lane; the user's bug, never counts against the rail
    RNR_EXC,          // lane; the receiver is slow, never counts against the rail
    RETRY_EXC,        // lane first; the peer's SEAL decides
    OP_DEADLINE,      // lane
    CONNECTION_RESET, // lane; EOF or ECONNRESET of one TCP lane
    STUCK_AFTER_FLAP, // lane; fragments from before a port flap never completed
    EP_CLOSE,         // lane
    ADMIN,            // lane: the seal that ends a drained lane; rail: the drain itself
    PEER_SEAL,        // the peer sealed it
    CONNECT_REFUSED,  // rail from here on
    NET_TIMEOUT,
    NET_UNREACHABLE,
    PORT_DOWN,
    STALL,
    GRACE_OVER,
    DEVICE_FATAL,
    CQ_FATAL,
    ADDRESS_GONE,
    SECOND_QP_ERROR,
    UNEXPLAINED_RETRY, // RETRY_EXC, and the peer's SEAL carried no OWN_ERROR
    PEER_RAIL,         // the peer's SEAL had scope RAIL
    PEER_HINT,         // SUSPECT_HINT
    PEER_DEAD,
    PEER_CLOSED,   // the peer closed the ep
    PEER_GAVE_UP,  // the peer ended the ep before its operations had ended
    REPLAY_BUDGET, // of one fragment
    REFUSED,       // a handshake, for ever
    // Ends of good things.
    PROGRESS,
    PORT_UP,
    DRAINED,
    HOLDOFF_OVER,
    PROBE_OK,
    PROBE_FAILED,
    RESUME,
    WIRED,
    COUNT
};

scope scope_of(cause why);
const char *name_of(cause why);
const char *name_of(grade g);
const char *name_of(op_kind kind);

} // namespace ufx::ucp::core

#endif
