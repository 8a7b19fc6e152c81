// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs: creating, changing state, querying. The tables of transitions say what the kernel's
// ib_modify_qp_is_ok() allows, which is IBA 1.4, table 91.
#include "verbs.h"

#include "completion_queue.h"
#include "lookup.h"
#include "queue_pair.h"

#include "swhca/engine/link.h"
#include "swhca/fabric/doorbell_count.h"
#include "swhca/fabric/fabric.h"
#include "swhca/faults/faults.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <infiniband/verbs.h>
#include <span>

namespace ufx::swhca {

namespace {

constexpr uint32_t max_qp_wr = 32768;
constexpr uint32_t max_qp_sge = 30;
constexpr uint32_t known_mask = (1u << 21) - 1; // IBV_QP_STATE to IBV_QP_DEST_QPN
constexpr uint32_t migration = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr uint32_t while_sending =
    migration | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER;

// What a transition needs and what it may have besides IBV_QP_STATE. Any state goes to RESET and,
// but for RESET itself, to ERR, with neither.
struct transition {
    uint8_t from;
    uint8_t to;
    uint32_t required;
    uint32_t optional;
};

constexpr transition connected[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_RTR,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
     while_sending},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, while_sending},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, while_sending},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0,
     migration | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
         IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS |
         IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PORT},
    {IBV_QPS_SQE, IBV_QPS_RTS, 0, 0},
};

constexpr transition datagram[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
    {IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    {IBV_QPS_SQE, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
};

bool has(uint32_t mask, uint32_t bit) noexcept
{
    return (mask & bit) != 0;
}

bool legal(uint8_t type, uint8_t from, uint8_t to, uint32_t mask) noexcept
{
    bool sends = from >= IBV_QPS_RTR && from <= IBV_QPS_SQE;
    if (has(mask, IBV_QP_CUR_STATE) && !sends) {
        return false;
    }
    if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET)) {
        return from <= IBV_QPS_ERR && (mask & ~static_cast<uint32_t>(IBV_QP_STATE)) == 0;
    }
    std::span<const transition> table(connected);
    if (type == IBV_QPT_UD) {
        table = datagram;
    }
    auto one = std::find_if(table.begin(), table.end(), [&](const transition &each) {
        return each.from == from && each.to == to;
    });
    return one != table.end() && (mask & one->required) == one->required &&
           (mask & ~(one->required | one->optional | IBV_QP_STATE)) == 0;
}

bool sane(uint32_t mask, const qp_attributes &attr) noexcept
{
    struct {
        uint32_t bit;
        bool good;
    } checks[] = {
        {IBV_QP_PORT, attr.port_num == 1},
        {IBV_QP_PATH_MTU, attr.mtu >= IBV_MTU_256 && attr.mtu <= IBV_MTU_4096},
        {IBV_QP_MAX_QP_RD_ATOMIC, attr.max_rd_atomic <= max_rd_atomic},
        {IBV_QP_MAX_DEST_RD_ATOMIC, attr.max_dest_rd_atomic <= max_rd_atomic},
        {IBV_QP_TIMEOUT, attr.timeout <= 31},
        {IBV_QP_RETRY_CNT, attr.retry_count <= 7},
        {IBV_QP_RNR_RETRY, attr.rnr_retry <= 7},
        {IBV_QP_MIN_RNR_TIMER, attr.min_rnr_timer <= 31},
    };
    return std::all_of(std::begin(checks), std::end(checks),
                       [mask](const auto &each) { return !has(mask, each.bit) || each.good; });
}

// The answer of the kernel to this change: 0, or an errno.
int check_modify(core &world, const qp &one, uint32_t mask, uint8_t to, const qp_attributes &attr)
{
    if ((mask & ~known_mask) != 0) {
        return EOPNOTSUPP;
    }
    uint8_t from = has(mask, IBV_QP_CUR_STATE) ? attr.current : one.state;
    if (!legal(one.type, from, to, mask) || from != one.state || !sane(mask, attr)) {
        return EINVAL;
    }
    const port &from_port = world.hca_of(one).port;
    if (has(mask, IBV_QP_PKEY_INDEX) && attr.pkey_index >= pkey_count(from_port)) {
        return EINVAL;
    }
    if (int error = has(mask, IBV_QP_AV) ? check_path(from_port, attr.path) : 0; error != 0) {
        return error;
    }
    if (has(mask, IBV_QP_ALT_PATH)) { // RoCE has none; that of InfiniBand is not modelled
        return from_port.link_layer == IBV_LINK_LAYER_ETHERNET ? EINVAL : EOPNOTSUPP;
    }
    return 0;
}

void take_attributes(qp &one, uint32_t mask, const qp_attributes &attr) noexcept
{
    auto take = [mask](uint32_t bit, auto &to, const auto &from) {
        if (has(mask, bit)) {
            to = from;
        }
    };
    qp_attributes &to = one.attr;
    take(IBV_QP_PORT, to.port_num, attr.port_num);
    take(IBV_QP_PKEY_INDEX, to.pkey_index, attr.pkey_index);
    take(IBV_QP_ACCESS_FLAGS, to.access, attr.access);
    take(IBV_QP_QKEY, to.qkey, attr.qkey);
    take(IBV_QP_PATH_MTU, to.mtu, attr.mtu);
    take(IBV_QP_AV, to.path, attr.path);
    take(IBV_QP_DEST_QPN, to.dest_qpn, attr.dest_qpn & psn_mask);
    take(IBV_QP_MAX_DEST_RD_ATOMIC, to.max_dest_rd_atomic, attr.max_dest_rd_atomic);
    take(IBV_QP_MIN_RNR_TIMER, to.min_rnr_timer, attr.min_rnr_timer);
    take(IBV_QP_TIMEOUT, to.timeout, attr.timeout);
    take(IBV_QP_RETRY_CNT, to.retry_count, attr.retry_count);
    take(IBV_QP_RNR_RETRY, to.rnr_retry, attr.rnr_retry);
    take(IBV_QP_MAX_QP_RD_ATOMIC, to.max_rd_atomic, attr.max_rd_atomic);
    if (has(mask, IBV_QP_RQ_PSN)) {
        one.resp.expected_psn = attr.rq_psn & psn_mask;
    }
    if (has(mask, IBV_QP_SQ_PSN)) {
        one.req.next_psn = one.req.unacked_psn = one.req.highest_psn = attr.sq_psn & psn_mask;
    }
    if (has(mask, IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY)) {
        one.req.retries_left = to.retry_count;
        one.req.rnr_left = to.rnr_retry;
    }
}

// A free number whose place in the device's table is free too; 0 if there is none.
uint32_t take_qpn(hca &device, uint32_t index) noexcept
{
    for (uint32_t tries = 0; tries < max_qps; tries++) {
        uint32_t qpn = device.next_qpn;
        device.next_qpn = (device.next_qpn + 1) & psn_mask;
        uint16_t &slot = device.qp_of[qpn % max_qps];
        if (qpn > 1 && slot == 0) {
            slot = static_cast<uint16_t>(index + 1);
            return qpn;
        }
    }
    return 0;
}

// The number of the QP that was destroyed last, if a rule wants it to come again; else 0.
uint32_t inherit_qpn(core &world, uint32_t hca_index, uint32_t index) noexcept
{
    hca &device = world.shared.hcas[hca_index];
    uint32_t qpn = device.last_qpn;
    uint16_t &slot = device.qp_of[qpn % max_qps];
    if (qpn == 0 || slot != 0 ||
        match_command(world, hca_index, 0, fault_action::REUSE_QPN) == nullptr) {
        return 0;
    }
    slot = static_cast<uint16_t>(index + 1);
    return qpn;
}

// As the mlx5 driver sets the QP up: receives of an RC QP have a CQE each, requests only if all are
// signaled or the program takes it on itself.
void set_up_scatter(core &world, const qp_request &want, qp &one) noexcept
{
    const cq *cqs = world.shared.cqs;
    bool scatters =
        world.hca_of(one).scatter_to_cqe && want.scatter_to_cqe && want.type == IBV_QPT_RC;
    bool requests = scatters && (want.sq_signal_all || want.allow_scatter_to_cqe);
    one.inline_receives = scatters ? inline_room(cqs[want.recv_cq].cqe_bytes) : uint8_t{0};
    one.inline_requests = requests ? inline_room(cqs[want.send_cq].cqe_bytes) : uint8_t{0};
}

// no_index if the table, or the file system, is full.
uint32_t free_qp(image &shared) noexcept
{
    for (uint32_t i = 0; i < shared.qps_used; i++) {
        if (!shared.qps[i].in_use) {
            return i;
        }
    }
    uint32_t next = shared.qps_used;
    if (next == max_qps || !reserve_memory(&shared.qps[next], sizeof(qp))) {
        return no_index;
    }
    return shared.qps_used++;
}

int check_create(core &world, uint32_t context_index, const qp_request &want)
{
    image &shared = world.shared;
    if (want.type != IBV_QPT_RC && want.type != IBV_QPT_UD) {
        return EOPNOTSUPP; // UC, XRC, raw packets, DC
    }
    if (lookup(shared.pds, context_index, want.pd) == nullptr ||
        lookup(shared.cqs, context_index, want.send_cq) == nullptr ||
        lookup(shared.cqs, context_index, want.recv_cq) == nullptr ||
        (want.srq != no_index && lookup(shared.srqs, context_index, want.srq) == nullptr)) {
        return ENOENT;
    }
    bool bad_queue = (want.sq_blocks != 0 && !std::has_single_bit(want.sq_blocks)) ||
                     (want.rq_size != 0 && !std::has_single_bit(want.rq_size)) ||
                     want.sq_blocks > max_qp_wr || want.rq_size > max_qp_wr ||
                     (want.rq_size != 0 && (want.rq_shift < 4 || want.rq_shift > 10));
    if (bad_queue || want.max_send_wr > max_qp_wr || want.max_recv_wr > max_qp_wr ||
        want.max_send_sge > max_qp_sge || want.max_recv_sge > max_qp_sge + 2) {
        return EINVAL;
    }
    return 0;
}

} // namespace

int create_qp(core &world, uint32_t context_index, const qp_request &want, uint32_t &handle,
              uint32_t &qpn)
{
    image &shared = world.shared;
    uint8_t hca_index = shared.contexts[context_index].hca;
    if (int error = injected_errno(world, hca_index, 0, fault_action::FAIL_CREATE_QP); error != 0) {
        return error;
    }
    if (int error = check_create(world, context_index, want); error != 0) {
        return error;
    }
    handle = free_qp(shared);
    if (handle == no_index) {
        return ENOMEM;
    }
    qp &one = shared.qps[handle];
    qpn = inherit_qpn(world, hca_index, handle);
    one.heir = qpn != 0;
    qpn = one.heir ? qpn : take_qpn(shared.hcas[hca_index], handle);
    if (qpn == 0) {
        return ENOMEM;
    }
    reset_queue_pair(one);
    one.hca = hca_index;
    one.type = want.type;
    one.sq_signal_all = want.sq_signal_all;
    one.qpn = qpn;
    one.process = shared.contexts[context_index].process;
    one.context = context_index;
    one.pd = want.pd;
    one.send_cq = want.send_cq;
    one.recv_cq = want.recv_cq;
    one.srq = want.srq;
    one.user_handle = want.user_handle;
    one.uidx = want.uidx;
    one.buffer = want.buffer;
    one.doorbell = want.doorbell;
    one.sq_blocks = want.sq_blocks;
    one.rq_size = want.rq_size;
    one.rq_shift = want.rq_size == 0 ? 0 : want.rq_shift;
    // The receive queue lies first.
    one.sq_buffer = want.buffer + (static_cast<uint64_t>(one.rq_size) << one.rq_shift);
    one.max_send_wr = want.max_send_wr;
    one.max_recv_wr = want.max_recv_wr;
    one.max_send_sge = want.max_send_sge;
    one.max_recv_sge = want.max_recv_sge;
    one.max_inline = want.max_inline;
    set_up_scatter(world, want, one);
    one.events = {};
    one.completing.known = false;
    one.counters = {};
    shared.pds[want.pd].users++;
    shared.cqs[want.send_cq].users++;
    shared.cqs[want.recv_cq].users++;
    if (want.srq != no_index) {
        shared.srqs[want.srq].users++;
    }
    publish(one);
    shared.processes[one.process].qps.add(handle);
    return 0;
}

int modify_qp(core &world, uint32_t context_index, uint32_t handle, uint32_t mask, uint8_t state,
              const qp_attributes &attr)
{
    qp *one = lookup(world.shared.qps, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    uint8_t to = has(mask, IBV_QP_STATE) ? state : one->state;
    if (int error = injected_errno(world, one->hca, one->qpn, fault_action::FAIL_MODIFY_QP, to);
        error != 0) {
        return error;
    }
    if (int error = check_modify(world, *one, mask, to, attr); error != 0) {
        return error;
    }
    one->completing.known = false; // it says nothing of what comes now
    if (to == IBV_QPS_RESET) {
        world.shared.timers.remove(handle);
        write_held_cqes(world, *one);
        reset_queue_pair(*one);
        return 0;
    }
    if (to == IBV_QPS_ERR) {
        enter_error(world, *one);
        return 0;
    }
    take_attributes(*one, mask, attr);
    open_doorbell(one->sq_doorbell);
    one->state = to;
    if (one->heir && to == IBV_QPS_RTR) { // now it can take what was meant for its predecessor
        one->heir = false;
        release_packets_to(world, one->hca, one->qpn);
    }
    world.shared.pending.add(handle);
    return 0;
}

int query_qp(core &world, uint32_t context_index, uint32_t handle, uint8_t &state,
             qp_attributes &out)
{
    const qp *one = lookup(world.shared.qps, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    if (int error = injected_errno(world, one->hca, one->qpn, fault_action::FAIL_QUERY_QP);
        error != 0) {
        return error;
    }
    bool stale = match_command(world, one->hca, one->qpn, fault_action::STALE_QUERY_QP) != nullptr;
    state = one->state;
    out = one->attr;
    out.sq_psn = one->type == IBV_QPT_UD ? one->req.next_psn : one->req.highest_psn;
    out.rq_psn = one->resp.expected_psn;
    out.access = remote_rights(*one);
    out.max_rd_atomic = static_cast<uint8_t>(rd_atomic_depth(out.max_rd_atomic));
    out.max_dest_rd_atomic = static_cast<uint8_t>(rd_atomic_depth(out.max_dest_rd_atomic));
    if (stale) { // as it was when it began to send
        state = IBV_QPS_RTS;
        out.rq_psn = psn_add(out.rq_psn, psn_mask);
    }
    return 0;
}

int destroy_qp(core &world, uint32_t context_index, uint32_t handle, event_count &async_events)
{
    image &shared = world.shared;
    qp *one = lookup(shared.qps, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    write_held_cqes(world, *one);
    one->completing.known = false;
    shared.timers.remove(handle);
    shared.pending.remove(handle);
    shared.processes[one->process].qps.remove(handle);
    shared.processes[one->process].failed.remove(handle);
    shared.hcas[one->hca].qp_of[one->qpn % max_qps] = 0;
    shared.hcas[one->hca].last_qpn = one->qpn;
    shared.pds[one->pd].users--;
    shared.cqs[one->send_cq].users--;
    shared.cqs[one->recv_cq].users--;
    if (one->srq != no_index) {
        shared.srqs[one->srq].users--;
    }
    async_events = one->events;
    one->in_use = false;
    return 0;
}

} // namespace ufx::swhca
