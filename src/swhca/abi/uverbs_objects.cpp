// SPDX-License-Identifier: BSD-3-Clause
// Commands about protection domains, memory, address handles, completion queues and SRQs.
#include "uverbs_file.h"

#include "swhca/engine/address_space.h"
#include "swhca/model/events.h"
#include "swhca/model/verbs.h"

#include <cerrno>
#include <cstddef>
#include <infiniband/verbs.h>
#include <rdma/mlx5-abi.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t writes =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

} // namespace

int uverbs_file::alloc_pd(command_reader &in)
{
    ib_uverbs_alloc_pd request{};
    ib_uverbs_alloc_pd_resp reply{};
    if (!in.read(request)) {
        return EINVAL;
    }
    uint32_t &handle = reply.pd_handle; // clang captures no struct with a flexible array
    int error = model([&](core &world) { return swhca::alloc_pd(world, context_, handle); });
    mlx5_ib_alloc_pd_resp more{};
    more.pdn = reply.pd_handle + 1;
    return error != 0 ? error : in.reply(memory_, reply, more);
}

int uverbs_file::dealloc_pd(command_reader &in)
{
    ib_uverbs_dealloc_pd request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    return model(
        [&](core &world) { return swhca::dealloc_pd(world, context_, request.pd_handle); });
}

int uverbs_file::reg_mr(command_reader &in)
{
    ib_uverbs_reg_mr request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    if (request.length == 0 || (request.start & 0xfff) != (request.hca_va & 0xfff)) {
        return EINVAL;
    }
    if (!is_accessible(request.start, request.length, (request.access_flags & writes) != 0)) {
        return EFAULT;
    }
    mr_request want{request.pd_handle, request.access_flags, request.start, request.length,
                    request.hca_va};
    ib_uverbs_reg_mr_resp reply{};
    uint32_t &handle = reply.mr_handle;
    uint32_t &key = reply.lkey;
    int error = model([&](core &world) { return register_mr(world, context_, want, handle, key); });
    reply.rkey = reply.lkey;
    return error != 0 ? error : in.reply(memory_, reply);
}

// Its key stays; what is not to be changed is not looked at.
int uverbs_file::rereg_mr(command_reader &in)
{
    ib_uverbs_rereg_mr request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    constexpr uint32_t known =
        IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
    bool moves = (request.flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    if (request.flags == 0 || (request.flags & ~known) != 0 ||
        (moves && (request.length == 0 || (request.start & 0xfff) != (request.hca_va & 0xfff)))) {
        return EINVAL;
    }
    uint32_t handle = request.mr_handle; // clang captures no struct with a flexible array
    mr_request want{};
    ib_uverbs_rereg_mr_resp reply{};
    uint32_t &key = reply.lkey;
    if (int error =
            model([&](core &world) { return describe_mr(world, context_, handle, want, key); });
        error != 0) {
        return error;
    }
    if (moves) {
        want.start = request.start;
        want.length = request.length;
        want.iova = request.hca_va;
    }
    if ((request.flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
        want.access = request.access_flags;
    }
    if ((request.flags & IBV_REREG_MR_CHANGE_PD) != 0) {
        want.pd = request.pd_handle;
    }
    if (!is_accessible(want.start, want.length, (want.access & writes) != 0)) {
        return EFAULT;
    }
    int error = model([&](core &world) { return change_mr(world, context_, handle, want); });
    reply.rkey = reply.lkey;
    return error != 0 ? error : in.reply(memory_, reply);
}

int uverbs_file::dereg_mr(command_reader &in)
{
    ib_uverbs_dereg_mr request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    return model([&](core &world) { return deregister_mr(world, context_, request.mr_handle); });
}

int uverbs_file::create_ah(command_reader &in)
{
    ib_uverbs_create_ah request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    path to{};
    to.global = request.attr.is_global != 0;
    to.port_num = request.attr.port_num;
    to.sgid_index = request.attr.grh.sgid_index;
    std::memcpy(to.dgid.raw, request.attr.grh.dgid, sizeof(to.dgid.raw));
    ib_uverbs_create_ah_resp reply{};
    mlx5_ib_create_ah_resp more{};
    more.response_length = sizeof(more);
    // A locally administered address, made from the end of the GID: there is no ARP here.
    more.dmac[0] = 0x02;
    std::memcpy(more.dmac + 2, request.attr.grh.dgid + 12, 4);
    uint32_t &handle = reply.ah_handle;
    int error = model([&](core &world) { return swhca::create_ah(world, context_, to, handle); });
    return error != 0 ? error : in.reply(memory_, reply, more);
}

int uverbs_file::create_channel(command_reader &in)
{
    ib_uverbs_create_comp_channel request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    ucs::result<event_pipe> events = event_pipe::create();
    if (!events) {
        return EMFILE;
    }
    uint32_t handle = no_index;
    int error = model([&](core &world) {
        return swhca::create_channel(world, context_, events->write_end(), handle);
    });
    if (error != 0) {
        ::close(events->read_end());
        return error;
    }
    ib_uverbs_create_comp_channel_resp reply{};
    reply.fd = static_cast<uint32_t>(events->read_end());
    channels_[events->read_end()] = handle;
    if (options_.channel_made != nullptr) {
        options_.channel_made(events->read_end());
    }
    pipes_[handle] = std::move(*events);
    return in.reply(memory_, reply);
}

bool uverbs_file::channel_closed(int number, uint64_t now_ns)
{
    auto found = channels_.find(number);
    if (found == channels_.end()) {
        return false;
    }
    now_ns_ = now_ns;
    (void)model([&](core &world) {
        destroy_channel(world, found->second);
        return 0;
    });
    pipes_.erase(found->second);
    channels_.erase(found);
    return true;
}

int uverbs_file::make_cq(const ib_uverbs_ex_create_cq &request, const mlx5_ib_create_cq &driver,
                         uint32_t &handle)
{
    constexpr uint32_t known =
        IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION | IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
    if (driver.cqe_comp_en != 0 || (request.flags & ~known) != 0) {
        return EOPNOTSUPP;
    }
    if (request.comp_vector >= num_comp_vectors) {
        return EINVAL;
    }
    cq_request want{};
    want.entries = request.cqe + 1;
    want.cqe_bytes = driver.cqe_size;
    want.channel = no_index;
    want.ignore_overrun = (request.flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN) != 0;
    want.buffer = driver.buf_addr;
    want.doorbell = driver.db_addr;
    want.user_handle = request.user_handle;
    if (request.comp_channel >= 0) {
        auto found = channels_.find(request.comp_channel);
        if (found == channels_.end()) {
            return EINVAL;
        }
        want.channel = found->second;
    }
    return model([&](core &world) { return swhca::create_cq(world, context_, want, handle); });
}

int uverbs_file::create_cq(command_reader &in)
{
    ib_uverbs_create_cq request{};
    mlx5_ib_create_cq driver{};
    if (!in.read(request, driver)) {
        return EINVAL;
    }
    ib_uverbs_ex_create_cq core{};
    core.user_handle = request.user_handle;
    core.cqe = request.cqe;
    core.comp_vector = request.comp_vector;
    core.comp_channel = request.comp_channel;
    ib_uverbs_create_cq_resp reply{};
    int error = make_cq(core, driver, reply.cq_handle);
    reply.cqe = request.cqe; // the provider asks for 2^n - 1 and takes it as the mask of indices
    mlx5_ib_create_cq_resp more{};
    more.cqn = reply.cq_handle + 1;
    return error != 0 ? error : in.reply(memory_, reply, more);
}

int uverbs_file::create_cq_extended(command_reader &in)
{
    ib_uverbs_ex_create_cq request{};
    mlx5_ib_create_cq driver{};
    if (!in.read(request, driver)) {
        return EINVAL;
    }
    ib_uverbs_ex_create_cq_resp reply{};
    int error = make_cq(request, driver, reply.base.cq_handle);
    reply.base.cqe = request.cqe;
    reply.response_length = sizeof(reply);
    mlx5_ib_create_cq_resp more{};
    more.cqn = reply.base.cq_handle + 1;
    return error != 0 ? error : in.reply(memory_, reply, more);
}

int uverbs_file::modify_cq(command_reader &in)
{
    ib_uverbs_ex_modify_cq request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    if (request.attr_mask != IBV_CQ_ATTR_MODERATE) {
        return EOPNOTSUPP;
    }
    uint32_t handle = request.cq_handle;
    auto [count, period_us] = request.attr;
    return model([&, count = count, period_us = period_us](core &world) {
        return moderate_cq(world, context_, handle, count, period_us);
    });
}

// libibverbs gives the address of its own object as the user's handle, in which it counts what is
// acknowledged.
uint32_t uverbs_file::reported(const event_count &events, uint32_t unread,
                               uint64_t counter) noexcept
{
    uint32_t acknowledged = 0;
    (void)memory_.read(memory_.self(), counter, &acknowledged, sizeof(acknowledged));
    return events_reported(events, unread, acknowledged);
}

int uverbs_file::destroy_cq(command_reader &in)
{
    ib_uverbs_destroy_cq request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    ib_uverbs_destroy_cq_resp reply{};
    uint64_t user_handle = 0;
    uint32_t channel = no_index;
    event_count events{};
    event_count async_events{};
    int error = model([&](core &world) {
        const cq &one = world.shared.cqs[request.cq_handle % max_cqs];
        user_handle = one.user_handle;
        channel = one.channel;
        return swhca::destroy_cq(world, context_, request.cq_handle, events, async_events);
    });
    if (error != 0) {
        return error;
    }
    reply.async_events_reported =
        reported(async_events, async_.withdraw(user_handle, sizeof(ib_uverbs_async_event_desc)),
                 user_handle + offsetof(ibv_cq, async_events_completed));
    auto found = pipes_.find(channel);
    uint32_t unread = found == pipes_.end()
                          ? 0
                          : found->second.withdraw(user_handle, sizeof(ib_uverbs_comp_event_desc));
    reply.comp_events_reported =
        reported(events, unread, user_handle + offsetof(ibv_cq, comp_events_completed));
    return in.reply(memory_, reply);
}

int uverbs_file::create_srq(command_reader &in)
{
    ib_uverbs_create_srq request{};
    mlx5_ib_create_srq driver{};
    if (!in.read(request, driver)) {
        return EINVAL;
    }
    srq_request want{request.pd_handle, request.max_wr, request.max_sge,     request.srq_limit,
                     driver.buf_addr,   driver.db_addr, request.user_handle, driver.uidx};
    ib_uverbs_create_srq_resp reply{};
    uint32_t &handle = reply.srq_handle;
    int error =
        model([&](core &world) { return swhca::create_srq(world, context_, want, handle); });
    reply.max_wr = want.max_wr;
    reply.max_sge = want.max_sge;
    reply.srqn = reply.srq_handle + 1;
    mlx5_ib_create_srq_resp more{};
    more.srqn = reply.srqn;
    return error != 0 ? error : in.reply(memory_, reply, more);
}

int uverbs_file::modify_srq(command_reader &in)
{
    ib_uverbs_modify_srq request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    if ((request.attr_mask & IBV_SRQ_MAX_WR) != 0) {
        return EINVAL; // its size stays, as with mlx5
    }
    if ((request.attr_mask & IBV_SRQ_LIMIT) == 0) {
        return 0;
    }
    uint32_t handle = request.srq_handle;
    uint32_t limit = request.srq_limit;
    return model([&](core &world) { return set_srq_limit(world, context_, handle, limit); });
}

int uverbs_file::query_srq(command_reader &in)
{
    ib_uverbs_query_srq request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    srq found{};
    uint32_t handle = request.srq_handle;
    int error =
        model([&](core &world) { return swhca::query_srq(world, context_, handle, found); });
    ib_uverbs_query_srq_resp reply{};
    reply.max_wr = found.max_wr;
    reply.max_sge = found.max_sge;
    reply.srq_limit = found.limit;
    return error != 0 ? error : in.reply(memory_, reply);
}

int uverbs_file::destroy_srq(command_reader &in)
{
    ib_uverbs_destroy_srq request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    ib_uverbs_destroy_srq_resp reply{};
    uint64_t user_handle = 0;
    event_count events{};
    int error = model([&](core &world) {
        user_handle = world.shared.srqs[request.srq_handle % max_srqs].user_handle;
        return swhca::destroy_srq(world, context_, request.srq_handle, events);
    });
    if (error != 0) {
        return error;
    }
    reply.events_reported =
        reported(events, async_.withdraw(user_handle, sizeof(ib_uverbs_async_event_desc)),
                 user_handle + offsetof(ibv_srq, events_completed));
    return in.reply(memory_, reply);
}

} // namespace ufx::swhca
