// SPDX-License-Identifier: BSD-3-Clause
// The order of the stores matters: whoever finds the QP torn goes by what is there.
#include "responder_verdict.h"

#include "events.h"
#include "payload.h"
#include "queue_pair.h"

#include "swhca/fabric/repair.h"

#include <infiniband/verbs.h>

namespace ufx::swhca {

void refuse(core &world, qp &one, uint32_t psn, uint8_t syndrome) noexcept
{
    if (!world.memory.reaches(one.process)) {
        return; // a host that is dead answers nothing
    }
    responder_state &resp = one.resp;
    int32_t behind = psn_diff(psn, resp.nak_psn);
    if (resp.nak_pending && (behind > 0 || (behind == 0 && syndrome == resp.nak_syndrome))) {
        return; // what comes first is refused first
    }
    resp.nak_pending = false;
    in_this_order();
    resp.nak_psn = psn;
    resp.nak_syndrome = syndrome;
    in_this_order();
    resp.nak_pending = true;
    world.shared.pending.add(world.index_of(one));
}

void refuse_once(core &world, qp &one, uint32_t psn, uint8_t syndrome) noexcept
{
    refuse(world, one, psn, syndrome); // first: nobody else would make the NAK due
    in_this_order();
    one.resp.nak_sent = true;
}

void refuse_not_ready(core &world, qp &one, const packet &what) noexcept
{
    refuse_once(world, one, what.psn,
                static_cast<uint8_t>(AETH_RNR_NAK | (one.attr.min_rnr_timer & 0x1f)));
}

void fail(core &world, qp &one, uint32_t psn, uint8_t syndrome, uint32_t event) noexcept
{
    if (!world.memory.reaches(one.process)) {
        return;
    }
    refuse(world, one, psn, syndrome);
    if (event != 0 && one.state != IBV_QPS_ERR) {
        raise_qp_event(world, one, event);
    }
    enter_error(world, one);
    one.resp.closing = true;
}

void fail_invalid(core &world, qp &one, uint32_t psn) noexcept
{
    fail(world, one, psn, AETH_NAK_INVALID_REQUEST, IBV_EVENT_QP_REQ_ERR);
}

void fail_access(core &world, qp &one, uint32_t psn) noexcept
{
    fail(world, one, psn, AETH_NAK_REMOTE_ACCESS, IBV_EVENT_QP_ACCESS_ERR);
}

bool is_granted(core &world, qp &one, const packet &what, uint32_t length, uint32_t right) noexcept
{
    if ((remote_rights(one) & right) == 0) {
        fail_invalid(world, one, what.psn);
        return false;
    }
    if (length > 0 &&
        find_region(world, one.hca, one.pd, what.rkey, what.va, length, right) == nullptr) {
        fail_access(world, one, what.psn);
        return false;
    }
    return true;
}

void accept(core &world, qp &one, const packet &what, uint32_t psns) noexcept
{
    responder_state &resp = one.resp;
    resp.nak_sent = resp.nak_pending = false;
    if (what.ack_request) {
        resp.ack_pending = true;
        world.shared.pending.add(world.index_of(one));
    }
    in_this_order();
    resp.expected_psn = psn_add(resp.expected_psn, psns);
    in_this_order();
}

} // namespace ufx::swhca
