// SPDX-License-Identifier: BSD-3-Clause
// What the sending half of an ep knows of a lane: whether it had no room.
#ifndef UFX_UCP_TX_PORT_H
#define UFX_UCP_TX_PORT_H

#include <ufx/uct.h>

#include <cstdint>

namespace ufx::ucp {

class ep_tx;

struct tx_port {
    ufx_uct_pending_req_t pending{}; // first: uct gives its address back
    ep_tx *self = nullptr;           // nullptr: it was never parked
    std::uint64_t refused_in = 0;    // turn in which it had no room
    bool waits = false;              // parked in the lane's pending queue
    bool guilty_found = false;       // by a purge
};

} // namespace ufx::ucp

#endif
