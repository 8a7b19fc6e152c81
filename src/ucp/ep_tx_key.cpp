// SPDX-License-Identifier: BSD-3-Clause
// Keys that are older than the target's device.
#include "ucp/core/control_msg.h"
#include "ucp/ep.h"
#include "ucp/ep_tx.h"
#include "ucp/peer.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"

namespace ufx::ucp {

// Once for each time that the target's device was opened again.
void ep_tx::ask_fresh_key(rkey &key, lane &over)
{
    if (!key.should_ask(over)) {
        return;
    }
    peer &target = ep_.remote();
    const unsigned device = over.remote_index();
    target.send_until_answered(
        {peer::question::about::RKEY, key.memory_id(), device},
        core::rkey_req_msg{key.memory_id(), over.ref().rail, key.generation(device)});
}

void ep_tx::on_rkey(const core::rkey_rep_msg &msg)
{
    if (!msg.found && msg.generation == 0) {
        end_ops_of(msg.memory_id);
    }
    wake();
}

void ep_tx::end_guilty(request &r, ufx_status_t status)
{
    const ucs::handle id = r.id;
    const core::cause why =
        status == UFX_ERR_UNREACHABLE ? core::cause::NONE : core::cause::PROTECTION;
    r.state.claim(status, why);
    drop_unposted(r, status, why, true);
    ep_.failover()->end_op(id, status, why, ep_.remote().actions());
}

} // namespace ufx::ucp
