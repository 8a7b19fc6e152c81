// SPDX-License-Identifier: BSD-3-Clause
// fault_rule: one fault of a schedule or of `ufx_swhca ctl`: what it does, to whom, and how often.
#ifndef UFX_SWHCA_FAULTS_RULE_H
#define UFX_SWHCA_FAULTS_RULE_H

#include "swhca/wire/packet.h"

#include <cstdint>

namespace ufx::swhca {

inline constexpr uint32_t max_rules = 128;
inline constexpr int8_t any_state = -1;

enum class fault_action : uint8_t {
    NONE,
    // To packets.
    DROP,
    DELAY,   // param: ns
    REORDER, // behind the next packet of its flow
    DUPLICATE,
    CORRUPT,     // the receiver's ICRC check drops it
    HOLD,        // until `release`
    STRAY_WRITE, // delivered like any write, although the receiver does not count it: data above
                 // rq_psn
    // To completions.
    HOLD_CQE, // param: ns
    DUPLICATE_CQE,
    ERROR_CQE, // param: syndrome
    // To work requests.
    SWALLOW, // it and all behind it is not seen until `release`
    // To commands; param: errno.
    FAIL_OPEN_DEVICE,
    FAIL_ALLOC_PD,
    FAIL_REG_MR,
    FAIL_CREATE_CHANNEL,
    FAIL_CREATE_CQ,
    FAIL_CREATE_SRQ,
    FAIL_CREATE_QP,
    FAIL_CREATE_AH,
    FAIL_MODIFY_QP,
    FAIL_QUERY_QP,
    STALE_QUERY_QP,
    REUSE_QPN, // a QP that is created takes the number of the last one that was destroyed
    // To a device or a port, once, when their time has come.
    PORT_DOWN,
    PORT_UP,
    DEVICE_FATAL,
    DEVICE_RESET,   // a dead one works again, for those who open it from then on
    EVENT,          // param: enum ibv_event_type
    SET_RATE,       // param: bit/s
    SET_LATENCY,    // param: ns
    SCATTER_TO_CQE, // param: whether QPs that are created from now on get it
    SET_LID,
    SET_PKEY,   // param: index << 16 | value
    SET_GID,    // param: index; `address` all zero clears it
    QP_ERROR,   // moves a QP to ERR behind its owner's back
    HOST_DEATH, // kills every process that has the device open
    STALL_CQ,   // param: CQ number; 0 is every CQ of the device
    UNSTALL_CQ,
    RELEASE, // lets go what HOLD and SWALLOW keep
};

// What happens to a device once, or again and again, when its time has come.
[[nodiscard]] constexpr bool is_timed(fault_action action) noexcept
{
    return action >= fault_action::PORT_DOWN;
}

enum class fault_target : uint8_t {
    ANY,
    REQUESTS,
    RESPONSES, // acknowledgements and what answers reads and atomics
};

struct fault_rule {
    bool in_use; // not yet spent
    bool silent; // a port fault without its event
    fault_action action;
    fault_target target;
    int8_t hca;           // -1: every one
    int8_t state;         // of FAIL_MODIFY_QP: only to this IBV_QPS_*, or any_state
    uint32_t qpn;         // 0: every one
    uint32_t skip;        // matches that pass first
    uint32_t count;       // matches that are hit, then the rule is spent; 0: no limit
    uint32_t probability; // of 2^32 - 1; UINT32_MAX: always
    uint64_t from_ns;     // since the fabric was made
    uint64_t until_ns;    // 0: for ever
    uint64_t every_ns;    // of what is timed: happens again after it; 0: once
    uint64_t param;
    gid address;
    uint64_t seen;
    uint64_t hits;
};

} // namespace ufx::swhca

#endif
