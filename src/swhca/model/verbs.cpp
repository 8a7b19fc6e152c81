// SPDX-License-Identifier: BSD-3-Clause
// Contexts, protection domains, memory regions, channels, completion queues and SRQs.
#include "verbs.h"

#include "completion_queue.h"
#include "lookup.h"
#include "queue_pair.h"
#include "receive_queue.h"

#include "swhca/faults/faults.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t max_cqes = 1u << 22;
constexpr uint32_t max_srq_wr = 32767; // next_wqe_index has 16 bits
constexpr uint32_t max_srq_sge = 31;
constexpr uint32_t known_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr uint32_t optional_access = 0x3ff00000; // IBV_ACCESS_OPTIONAL_RANGE: a hint, ignored

int injected(core &world, uint32_t context_index, fault_action action) noexcept
{
    return injected_errno(world, world.shared.contexts[context_index].hca, 0, action);
}

// 0 if such a region may be.
int check_mr(const mr_request &want) noexcept
{
    constexpr uint32_t needs_local = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if ((want.access & ~(known_access | optional_access)) != 0) {
        return EOPNOTSUPP; // zero-based, memory windows, on-demand paging, huge pages
    }
    if ((want.access & needs_local) != 0 && (want.access & IBV_ACCESS_LOCAL_WRITE) == 0) {
        return EINVAL;
    }
    if (want.start + want.length < want.start || want.iova + want.length < want.iova) {
        return EINVAL;
    }
    return 0;
}

} // namespace

int open_context(core &world, uint32_t hca_index, int async_fd, uint32_t &context_index)
{
    if (hca_index >= world.shared.hca_count) {
        return ENODEV;
    }
    if (world.shared.hcas[hca_index].dead) {
        return EIO;
    }
    if (int error = injected_errno(world, hca_index, 0, fault_action::FAIL_OPEN_DEVICE);
        error != 0) {
        return error;
    }
    context_index = first_free(world.shared.contexts);
    if (context_index == no_index) {
        return ENOMEM;
    }
    context &one = world.shared.contexts[context_index];
    one = {false, false, static_cast<uint8_t>(hca_index), world.memory.self(), async_fd};
    publish(one);
    return 0;
}

void close_context(core &world, uint32_t context_index)
{
    image &shared = world.shared;
    event_count ignored{};
    auto each = [&](auto &&table, auto destroy) {
        for (uint32_t i = 0; i < std::size(table); i++) {
            if (table[i].in_use && table[i].context == context_index) {
                destroy(i);
            }
        }
    };
    each(used_qps(shared), [&](uint32_t i) { (void)destroy_qp(world, context_index, i, ignored); });
    each(shared.srqs, [&](uint32_t i) { (void)destroy_srq(world, context_index, i, ignored); });
    each(shared.cqs,
         [&](uint32_t i) { (void)destroy_cq(world, context_index, i, ignored, ignored); });
    each(shared.mrs, [&](uint32_t i) { (void)deregister_mr(world, context_index, i); });
    each(shared.pds, [&](uint32_t i) { shared.pds[i].in_use = false; });
    each(shared.channels, [&](uint32_t i) { shared.channels[i].in_use = false; });
    shared.contexts[context_index].in_use = false;
}

int alloc_pd(core &world, uint32_t context_index, uint32_t &handle)
{
    if (int error = injected(world, context_index, fault_action::FAIL_ALLOC_PD); error != 0) {
        return error;
    }
    handle = first_free(world.shared.pds);
    if (handle == no_index) {
        return ENOMEM;
    }
    world.shared.pds[handle] = {false, context_index, 0};
    publish(world.shared.pds[handle]);
    return 0;
}

int dealloc_pd(core &world, uint32_t context_index, uint32_t handle)
{
    pd *one = lookup(world.shared.pds, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    if (one->users > 0) {
        return EBUSY;
    }
    one->in_use = false;
    return 0;
}

int register_mr(core &world, uint32_t context_index, const mr_request &want, uint32_t &handle,
                uint32_t &key)
{
    if (int error = injected(world, context_index, fault_action::FAIL_REG_MR); error != 0) {
        return error;
    }
    pd *domain = lookup(world.shared.pds, context_index, want.pd);
    if (domain == nullptr) {
        return ENOENT;
    }
    if (int error = check_mr(want); error != 0) {
        return error;
    }
    for (uint32_t tries = 0; tries < max_mrs; tries++) {
        uint32_t number = world.shared.next_mkey++;
        handle = (number & 0xffffff) % max_mrs;
        mr &one = world.shared.mrs[handle];
        if (!one.in_use) {
            // 2^32 registrations pass before a key comes again.
            key = (number & 0xffffff) << 8 | number >> 24;
            one = {false,      key,         want.pd,  context_index, want.access & known_access,
                   want.start, want.length, want.iova};
            domain->users++;
            publish(one);
            return 0;
        }
    }
    return ENOMEM;
}

int describe_mr(core &world, uint32_t context_index, uint32_t handle, mr_request &out,
                uint32_t &key)
{
    const mr *one = lookup(world.shared.mrs, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    out = {one->pd, one->access, one->start, one->length, one->iova};
    key = one->key;
    return 0;
}

int change_mr(core &world, uint32_t context_index, uint32_t handle, const mr_request &want)
{
    mr *one = lookup(world.shared.mrs, context_index, handle);
    pd *domain = lookup(world.shared.pds, context_index, want.pd);
    if (one == nullptr || domain == nullptr) {
        return ENOENT;
    }
    if (int error = check_mr(want); error != 0) {
        return error;
    }
    world.shared.pds[one->pd].users--;
    domain->users++;
    one->pd = want.pd;
    one->access = want.access & known_access;
    one->start = want.start;
    one->length = want.length;
    one->iova = want.iova;
    return 0;
}

int deregister_mr(core &world, uint32_t context_index, uint32_t handle)
{
    mr *one = lookup(world.shared.mrs, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    world.shared.pds[one->pd].users--;
    one->in_use = false;
    return 0;
}

int check_path(const port &from, const path &to) noexcept
{
    bool ethernet = from.link_layer == IBV_LINK_LAYER_ETHERNET;
    if (to.port_num != 1 || (ethernet && !to.global)) {
        return EINVAL;
    }
    if (!to.global) {
        return 0;
    }
    if (to.sgid_index >= max_gids || (ethernet && to.dgid == gid{})) {
        return EINVAL;
    }
    return from.gids[to.sgid_index] == gid{} ? ENODATA : 0; // as since Linux 5.10
}

uint32_t pkey_count(const port &one) noexcept
{
    return one.link_layer == IBV_LINK_LAYER_ETHERNET ? 1 : max_pkeys;
}

int create_ah(core &world, uint32_t context_index, const path &to, uint32_t &handle)
{
    if (int error = injected(world, context_index, fault_action::FAIL_CREATE_AH); error != 0) {
        return error;
    }
    uint8_t hca_index = world.shared.contexts[context_index].hca;
    if (int error = check_path(world.shared.hcas[hca_index].port, to); error != 0) {
        return error;
    }
    handle = world.shared.next_ah++; // nothing is kept of it: a WQE has the whole address
    return 0;
}

int create_channel(core &world, uint32_t context_index, int write_fd, uint32_t &handle)
{
    if (int error = injected(world, context_index, fault_action::FAIL_CREATE_CHANNEL); error != 0) {
        return error;
    }
    handle = first_free(world.shared.channels);
    if (handle == no_index) {
        return ENOMEM;
    }
    world.shared.channels[handle] = {false, context_index, write_fd, 0};
    publish(world.shared.channels[handle]);
    return 0;
}

void destroy_channel(core &world, uint32_t handle)
{
    world.shared.channels[handle].in_use = false;
    for (cq &one : world.shared.cqs) {
        if (one.in_use && one.channel == handle) {
            one.channel = no_index;
        }
    }
}

int create_cq(core &world, uint32_t context_index, const cq_request &want, uint32_t &handle)
{
    if (int error = injected(world, context_index, fault_action::FAIL_CREATE_CQ); error != 0) {
        return error;
    }
    bool channel_ok = want.channel == no_index ||
                      lookup(world.shared.channels, context_index, want.channel) != nullptr;
    if (!channel_ok || want.entries == 0 || want.entries > max_cqes ||
        !std::has_single_bit(want.entries) ||
        (want.cqe_bytes != cqe_bytes && want.cqe_bytes != 2 * cqe_bytes)) {
        return EINVAL;
    }
    handle = first_free(world.shared.cqs);
    if (handle == no_index) {
        return ENOMEM;
    }
    // CQs of a UAR share their doorbell, and the first arm word may equal the record's first value:
    // only a word that no program writes shows whether it was armed.
    uint32_t word = unarmed_word;
    if (!world.memory.write(world.memory.self(), want.doorbell + cq_arm_word * sizeof(uint32_t),
                            &word, sizeof(word))) {
        return EFAULT;
    }
    cq &one = world.shared.cqs[handle];
    one = {};
    one.ignore_overrun = want.ignore_overrun;
    one.cqe_bytes = static_cast<uint8_t>(want.cqe_bytes);
    one.log_size = static_cast<uint8_t>(std::countr_zero(want.entries));
    one.context = context_index;
    one.channel = want.channel;
    one.buffer = want.buffer;
    one.doorbell = want.doorbell;
    one.user_handle = want.user_handle;
    one.arm_seen = unarmed_word;
    publish(one);
    if (want.channel != no_index) {
        world.shared.processes[world.memory.self()].cqs.add(handle);
    }
    return 0;
}

int moderate_cq(core &world, uint32_t context_index, uint32_t handle, uint32_t count,
                uint32_t period_us)
{
    cq *one = lookup(world.shared.cqs, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    if (count > max_cq_count || period_us > max_cq_period_us) {
        return EINVAL;
    }
    one->moderation = {static_cast<uint16_t>(count), static_cast<uint16_t>(period_us)};
    return 0;
}

int destroy_cq(core &world, uint32_t context_index, uint32_t handle, event_count &completion_events,
               event_count &async_events)
{
    cq *one = lookup(world.shared.cqs, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    if (one->users > 0) {
        return EBUSY;
    }
    forget_held_cqes(world, handle);
    world.shared.moderated.remove(handle);
    world.shared.processes[world.shared.contexts[context_index].process].cqs.remove(handle);
    completion_events = one->events;
    async_events = one->async_events;
    one->in_use = false;
    return 0;
}

int create_srq(core &world, uint32_t context_index, srq_request &want, uint32_t &handle)
{
    if (int error = injected(world, context_index, fault_action::FAIL_CREATE_SRQ); error != 0) {
        return error;
    }
    pd *domain = lookup(world.shared.pds, context_index, want.pd);
    if (domain == nullptr) {
        return ENOENT;
    }
    if (want.max_wr > max_srq_wr || want.max_sge > max_srq_sge) {
        return EINVAL;
    }
    handle = first_free(world.shared.srqs);
    if (handle == no_index) {
        return ENOMEM;
    }
    // The provider rounds up in the same way: one WQE is never posted, and a WQE is a power of two.
    uint32_t wqe_bytes = std::bit_ceil(std::max(32u, 16 + want.max_sge * 16));
    srq &one = world.shared.srqs[handle];
    one = {};
    one.context = context_index;
    one.pd = want.pd;
    one.buffer = want.buffer;
    one.doorbell = want.doorbell;
    one.user_handle = want.user_handle;
    one.uidx = want.uidx;
    one.wqe_shift = static_cast<uint32_t>(std::countr_zero(wqe_bytes));
    one.size = std::bit_ceil(want.max_wr + 1);
    one.max_wr = one.size - 1;
    one.max_sge = wqe_bytes / 16 - 1;
    one.limit = want.limit;
    want.max_wr = one.max_wr;
    want.max_sge = one.max_sge;
    domain->users++;
    publish(one);
    return 0;
}

int set_srq_limit(core &world, uint32_t context_index, uint32_t handle, uint32_t limit)
{
    srq *one = lookup(world.shared.srqs, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    if (limit >= one->size) {
        return EINVAL;
    }
    one->limit = limit;
    check_srq_limit(world, *one);
    return 0;
}

int query_srq(core &world, uint32_t context_index, uint32_t handle, srq &out)
{
    const srq *one = lookup(world.shared.srqs, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    out = *one;
    return 0;
}

int destroy_srq(core &world, uint32_t context_index, uint32_t handle, event_count &async_events)
{
    srq *one = lookup(world.shared.srqs, context_index, handle);
    if (one == nullptr) {
        return ENOENT;
    }
    if (one->users > 0) {
        return EBUSY;
    }
    async_events = one->events;
    world.shared.pds[one->pd].users--;
    one->in_use = false;
    return 0;
}

} // namespace ufx::swhca
