// SPDX-License-Identifier: BSD-3-Clause
// One control message of every type, with every field set.
#ifndef UFX_TEST_CORE_SAMPLES_H
#define UFX_TEST_CORE_SAMPLES_H

#include "ucp/core/control_msg.h"

#include <vector>

namespace ufx::test {

inline std::vector<ucp::core::control_msg> one_of_each()
{
    using namespace ucp::core;
    const lane_name lane{11, 12, 3, 4};
    window w;
    w.enter(0);
    w.enter(2);
    w.enter(700);
    lane_address address;
    const std::uint8_t bytes[] = {9, 8, 7};
    address.assign(bytes);
    token tx;
    tx.assign(bytes);
    blob<max_rkey_bytes> rkey;
    rkey.assign(bytes);
    landed_position landed;
    landed.grade = grade::BLIND;
    landed.nothing = false;
    landed.rx = tx;
    return {
        hello_msg{1, 3, true, {1, 2, 3}},
        suspect_hint_msg{5},
        seal_msg{77, lane, scope::RAIL, cause::STALL, true, true, landed, w},
        seal_ack_msg{77},
        lane_want_msg{lane, 99, error_mode::PEER},
        lane_req_msg{lane, 99, error_mode::FAILOVER, address, tx},
        lane_rep_msg{lane, address, tx},
        lane_ready_msg{lane},
        lane_refused_msg{lane, refusal::DAMPED, true, 8, 1500},
        probe_ok_msg{2, 6, true},
        addr_msg{1, 2, address},
        addr_ack_msg{1},
        rkey_req_msg{5, 1, 2},
        rkey_rep_msg{5, 1, 2, 3, true, rkey},
        revoke_msg{1, 2, 3},
        revoke_ack_msg{1, 2, 3},
        window_req_msg{1, 2},
        window_ack_msg{1, 2, w, {{0, 1, 17}, {1, 2, 18}}},
        admin_msg{4, 1, admin_action::RESUME},
        admin_ack_msg{4, 1},
        ep_close_msg{1, 2, true, w},
        ep_close_ack_msg{1, 2, w},
    };
}

} // namespace ufx::test

#endif
