// SPDX-License-Identifier: BSD-3-Clause
// Ports going down and up, tables that change, and the death of a device.
#include "device.h"

#include "events.h"
#include "queue_pair.h"

#include "swhca/fabric/liveness.h"
#include "swhca/fabric/port_files.h"

#include <csignal>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

constexpr uint8_t phys_link_up = 5; // IBA 1.4, table 154
constexpr uint8_t phys_disabled = 3;

// A pid may have come again, but not while the process lives; in another namespace it is somebody
// else's.
void kill_process(const process_slot &slot) noexcept
{
    if (lives(slot) && slot.pid_namespace == own_pid_namespace()) {
        ::kill(slot.pid, SIGKILL);
    }
}

// Whoever is told must find the files changed already.
void tell_if(core &world, uint32_t hca, uint32_t event, bool tell) noexcept
{
    write_port_files(world.shared, hca);
    if (tell) {
        raise_device_event(world, hca, event);
    }
}

} // namespace

void set_port_state(core &world, uint32_t hca, bool up, bool tell) noexcept
{
    port &one = world.shared.hcas[hca].port;
    uint8_t state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    if (one.state == state) {
        return;
    }
    one.state = state;
    one.phys_state = up ? phys_link_up : phys_disabled;
    tell_if(world, hca, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR, tell);
}

void set_lid(core &world, uint32_t hca, uint16_t lid, bool tell) noexcept
{
    world.shared.hcas[hca].port.lid = lid;
    tell_if(world, hca, IBV_EVENT_LID_CHANGE, tell);
}

void set_pkey(core &world, uint32_t hca, uint32_t index, uint16_t value, bool tell) noexcept
{
    if (index < max_pkeys) {
        world.shared.hcas[hca].port.pkeys[index] = value;
        tell_if(world, hca, IBV_EVENT_PKEY_CHANGE, tell);
    }
}

void set_gid(core &world, uint32_t hca, uint32_t index, const gid &value, bool tell) noexcept
{
    if (index < max_gids) {
        world.shared.hcas[hca].port.gids[index] = value;
        tell_if(world, hca, IBV_EVENT_GID_CHANGE, tell);
    }
}

void fail_device(core &world, uint32_t hca) noexcept
{
    struct hca &one = world.shared.hcas[hca];
    if (one.dead) {
        return;
    }
    one.dead = true;
    for (qp &each : used_qps(world.shared)) {
        if (each.in_use && each.hca == hca && each.state != IBV_QPS_RESET) {
            stop_queue_pair(world, each);
        }
    }
    raise_device_event(world, hca, IBV_EVENT_DEVICE_FATAL);
    for (context &each : world.shared.contexts) {
        each.dead = each.dead || (each.in_use && each.hca == hca);
    }
}

void reset_device(core &world, uint32_t hca) noexcept
{
    world.shared.hcas[hca].dead = false;
}

void kill_users(core &world, uint32_t hca) noexcept
{
    uint32_t self = world.memory.self();
    bool also_self = false;
    for (const context &one : world.shared.contexts) {
        if (one.in_use && one.hca == hca && one.process == self) {
            also_self = true;
        } else if (one.in_use && one.hca == hca) {
            kill_process(world.shared.processes[one.process]);
        }
    }
    if (also_self) {
        kill_process(world.shared.processes[self]);
    }
}

void raise_injected_event(core &world, uint32_t hca, uint32_t qpn, uint32_t event) noexcept
{
    switch (event) {
    case IBV_EVENT_CQ_ERR:
        for (cq &one : world.shared.cqs) {
            if (one.in_use && world.shared.contexts[one.context].hca == hca) {
                raise_cq_event(world, one, event);
            }
        }
        return;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        for (srq &one : world.shared.srqs) {
            if (one.in_use && world.shared.contexts[one.context].hca == hca) {
                raise_srq_event(world, one, event);
            }
        }
        return;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        for (qp &one : used_qps(world.shared)) {
            if (one.in_use && one.hca == hca && (qpn == 0 || one.qpn == qpn)) {
                raise_qp_event(world, one, event);
            }
        }
        return;
    default:
        raise_device_event(world, hca, event);
    }
}

} // namespace ufx::swhca
