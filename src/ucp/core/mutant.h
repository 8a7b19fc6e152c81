// SPDX-License-Identifier: BSD-3-Clause
// Switches of the wrong versions of ucp that tests must kill; all constant false in a real build.
#ifndef UFX_UCP_CORE_MUTANT_H
#define UFX_UCP_CORE_MUTANT_H

#include <cstdint>

namespace ufx::ucp::core {

// test/mutants/mutants.tsv says what each one breaks. Two are wrong executors in the explorer's own
// lane models (marked E): what they break is kept by a transport, not by ucp.
enum class mutant : std::uint8_t {
    NONE,
    SKIP_SEAL,
    COMPLETE_BEFORE_SEAL,
    ONE_WATERMARK,
    NO_DEDUP,
    READ_BELOW_TOKEN_OK,
    REPLAY_FROM_ZERO,
    TOKEN_BEFORE_QUIET,
    DESTROY_BEFORE_RECEIVES,
    BYTE_COUNT_REASSEMBLY,
    CONTROL_IN_AM_ORDER,
    GENERATION_IGNORED, // E
    RNR_PENALTY,
    TCP_COUNT_ON_RECEIPT, // E
    OTHER_LANES_WINDOW,
    NO_SKIP,
    ANSWERER_SAYS_NOTHING,
    NO_WINDOW_REQ,
    PROBE_OK_ONCE,
    NOTIFY_BEFORE_PUT,
    BLIND_REPLAY_AFTER_NOTIFY,
    STALE_SEAL_DRAINS,
    READY_ONCE,
    NO_SEAL_ACK,
    LANE_SEAL_DRAINS_RAIL,
    AM_DONE_AT_COMPLETION,
    UNKNOWN_EPOCH_IGNORED,
    FLUSH_PASSES_EARLY,
    DEAD_PEER_AWAITED,
    HANDLED_ON_ARRIVAL,
    EP_ERROR_BEFORE_QUIET,
    RETRY_CONDEMNS_RAIL,
    STALL_OF_BUSY_PEER,
    STALL_WHEN_IDLE,
    STALL_WITHIN_FRAGMENT,
    CONTROL_ONE_WAY,
    COUNT
};

#ifdef UFX_MUTANTS
inline mutant active_mutant = mutant::NONE; // written once, before main
inline bool mutated(mutant m)
{
    return active_mutant == m;
}
#else
constexpr bool mutated(mutant)
{
    return false;
}
#endif

} // namespace ufx::ucp::core

#endif
