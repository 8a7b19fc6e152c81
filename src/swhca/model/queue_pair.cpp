// SPDX-License-Identifier: BSD-3-Clause
// The error state, the reset, and the turn of a QP.
#include "queue_pair.h"

#include "datagram.h"
#include "events.h"
#include "receive_queue.h"
#include "requester.h"
#include "responder.h"

#include "swhca/fabric/doorbell_count.h"
#include "swhca/fabric/repair.h"
#include <infiniband/verbs.h>

namespace ufx::swhca {

uint32_t remote_rights(const qp &one) noexcept
{
    uint32_t rights = IBV_ACCESS_REMOTE_WRITE;
    if (one.attr.max_dest_rd_atomic > 0) {
        rights |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    }
    return one.attr.access & rights;
}

void stop_queue_pair(core &world, qp &one) noexcept
{
    one.state = IBV_QPS_ERR;
    one.cq_failed = one.cqe_failed = one.resp.closing = false;
    one.req.ack_deadline_ns = one.req.rnr_deadline_ns = one.req.resume_ns = 0;
    world.shared.timers.remove(world.index_of(one));
}

void enter_error(core &world, qp &one) noexcept
{
    stop_queue_pair(world, one);
    world.shared.processes[one.process].failed.add(world.index_of(one));
    flush_send_queue(world, one);
    flush_receive_queue(world, one);
}

void reset_queue_pair(qp &one) noexcept
{
    one.state = IBV_QPS_RESET;
    one.last_wqe_reported = false;
    one.swallowed = one.cq_failed = one.cqe_failed = false;
    close_doorbell(one.sq_doorbell);
    one.attr = {};
    one.req = {};
    one.resp = {};
}

bool run_queue_pair(core &world, qp &one) noexcept
{
    if (!one.in_use || world.shared.contexts[one.context].dead) {
        return false;
    }
    if (one.cq_failed || one.cqe_failed) {
        if (one.cq_failed) {
            raise_qp_event(world, one, IBV_EVENT_QP_FATAL);
        }
        enter_error(world, one);
        return false;
    }
    if (one.state == IBV_QPS_ERR) {
        flush_send_queue(world, one);
        flush_receive_queue(world, one);
        return one.resp.closing && run_responder(world, one);
    }
    if (one.type == IBV_QPT_UD) {
        return run_datagrams(world, one);
    }
    bool more = run_responder(world, one);
    return run_requester(world, one) || more;
}

} // namespace ufx::swhca
