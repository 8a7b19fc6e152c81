// SPDX-License-Identifier: BSD-3-Clause
// A put or get whose key the target refused: the key may only be older than the target's device.
#include "ucp/core/control_msg.h"
#include "ucp/ep.h"
#include "ucp/ep_tx.h"
#include "ucp/peer.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"

namespace ufx::ucp {

// True: the peer is asked, and has not answered yet.
bool ep_tx::waits_for_key(fragment &f)
{
    if (f.refused_on == core::no_rail) {
        return false;
    }
    peer &target = ep_.remote();
    rkey &key = *f.part.key;
    const std::uint32_t now = key.generation(target.remote_index(f.refused_on));
    if (now > f.key_generation) { // another fragment asked
        f.refused_on = core::no_rail;
        return false;
    }
    if (!f.key_asked) {
        f.key_asked = true;
        target.send_until_answered({peer::question::about::RKEY, f.id},
                                   core::rkey_req_msg{key.memory_id(), f.refused_on, now});
    }
    return true;
}

void ep_tx::on_rkey(const core::rkey_rep_msg &msg)
{
    std::vector<ucs::handle> guilty;
    for (fragment &f : fragments_) {
        if (!f.key_asked || f.refused_on != msg.rail || f.key_generation != msg.asked ||
            f.part.key->memory_id() != msg.memory_id) {
            continue;
        }
        ep_.remote().answered({peer::question::about::RKEY, f.id});
        f.key_asked = false;
        f.refused_on = core::no_rail;
        if (msg.found && msg.generation > f.key_generation) {
            f.part.key->refresh(ep_.remote().remote_index(msg.rail), msg.generation,
                                std::as_bytes(msg.rkey.view()));
        } else {
            guilty.push_back(f.op->id);
        }
    }
    for (const ucs::handle id : guilty) {
        if (request *r = ep_.home().requests.find(id); r != nullptr && !r->completed) {
            end_guilty(*r, UFX_ERR_REMOTE_ACCESS); // the key was good, or never was
        }
    }
    wake();
}

void ep_tx::end_guilty(request &r, ufx_status_t status)
{
    const ucs::handle id = r.id;
    r.state.claim(status, core::cause::PROTECTION);
    drop_unposted(r, status, core::cause::PROTECTION, true);
    ep_.failover()->end_op(id, status, core::cause::PROTECTION, ep_.remote().actions());
}

} // namespace ufx::ucp
