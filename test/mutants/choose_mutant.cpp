// SPDX-License-Identifier: BSD-3-Clause
// Makes a program that is built with mutants the one that UFX_MUTANT names, before its main runs.
#include "ucp/core/mutant.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace {

using ufx::ucp::core::mutant;

// In the order of the enum.
constexpr std::string_view names[] = {"NONE",
                                      "SKIP_SEAL",
                                      "COMPLETE_BEFORE_SEAL",
                                      "ONE_WATERMARK",
                                      "NO_DEDUP",
                                      "READ_BELOW_TOKEN_OK",
                                      "REPLAY_FROM_ZERO",
                                      "TOKEN_BEFORE_QUIET",
                                      "DESTROY_BEFORE_RECEIVES",
                                      "BYTE_COUNT_REASSEMBLY",
                                      "CONTROL_IN_AM_ORDER",
                                      "GENERATION_IGNORED",
                                      "RNR_PENALTY",
                                      "TCP_COUNT_ON_RECEIPT",
                                      "OTHER_LANES_WINDOW",
                                      "NO_SKIP",
                                      "ANSWERER_SAYS_NOTHING",
                                      "NO_WINDOW_REQ",
                                      "PROBE_OK_ONCE",
                                      "NOTIFY_BEFORE_PUT",
                                      "BLIND_REPLAY_AFTER_NOTIFY",
                                      "STALE_SEAL_DRAINS",
                                      "READY_ONCE",
                                      "NO_SEAL_ACK",
                                      "LANE_SEAL_DRAINS_RAIL",
                                      "AM_DONE_AT_COMPLETION",
                                      "UNKNOWN_EPOCH_IGNORED",
                                      "FLUSH_PASSES_EARLY",
                                      "DEAD_PEER_AWAITED",
                                      "HANDLED_ON_ARRIVAL",
                                      "EP_ERROR_BEFORE_QUIET",
                                      "RETRY_CONDEMNS_RAIL",
                                      "STALL_OF_BUSY_PEER",
                                      "STALL_WHEN_IDLE",
                                      "STALL_WITHIN_FRAGMENT",
                                      "CONTROL_ONE_WAY"};
static_assert(std::size(names) == static_cast<std::size_t>(mutant::COUNT));

mutant chosen()
{
    const char *wanted = std::getenv("UFX_MUTANT");
    for (std::size_t i = 0; wanted != nullptr && i < std::size(names); ++i) {
        if (names[i] == wanted) {
            return static_cast<mutant>(i);
        }
    }
    if (wanted != nullptr) {
        std::fprintf(stderr, "no mutant is called %s\n", wanted);
        std::_Exit(2);
    }
    return mutant::NONE;
}

struct chooser {
    chooser() { ufx::ucp::core::active_mutant = chosen(); }
} const choose;

} // namespace
