// SPDX-License-Identifier: BSD-3-Clause
// Commands about queue pairs.
#include "uverbs_file.h"

#include "swhca/model/verbs.h"

#include <cerrno>
#include <cstddef>
#include <infiniband/verbs.h>
#include <rdma/mlx5-abi.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t known_flags =
    MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_ALLOW_SCATTER_CQE;

constexpr auto to_left = [](auto &left, const auto &right) { left = right; };
constexpr auto to_right = [](const auto &left, auto &right) { right = left; };

// What a path and its form in commands have in common, one beside the other.
template <class Path, class Wire, class Copy>
void each_of_path(Path &ours, Wire &wire, Copy copy) noexcept
{
    copy(ours.dlid, wire.dlid);
    copy(ours.sgid_index, wire.sgid_index);
    copy(ours.sl, wire.sl);
    copy(ours.hop_limit, wire.hop_limit);
    copy(ours.traffic_class, wire.traffic_class);
    copy(ours.src_path_bits, wire.src_path_bits);
    copy(ours.static_rate, wire.static_rate);
    copy(ours.port_num, wire.port_num);
    copy(ours.flow_label, wire.flow_label);
}

// The same of the attributes of a QP, in commands that modify or query it.
template <class Attributes, class Wire, class Copy>
void each_of_attributes(Attributes &ours, Wire &wire, Copy copy) noexcept
{
    copy(ours.mtu, wire.path_mtu);
    copy(ours.timeout, wire.timeout);
    copy(ours.retry_count, wire.retry_cnt);
    copy(ours.rnr_retry, wire.rnr_retry);
    copy(ours.min_rnr_timer, wire.min_rnr_timer);
    copy(ours.max_rd_atomic, wire.max_rd_atomic);
    copy(ours.max_dest_rd_atomic, wire.max_dest_rd_atomic);
    copy(ours.port_num, wire.port_num);
    copy(ours.pkey_index, wire.pkey_index);
    copy(ours.access, wire.qp_access_flags);
    copy(ours.qkey, wire.qkey);
    copy(ours.dest_qpn, wire.dest_qp_num);
    copy(ours.rq_psn, wire.rq_psn);
    copy(ours.sq_psn, wire.sq_psn);
}

qp_attributes to_attributes(const ib_uverbs_modify_qp &from) noexcept
{
    qp_attributes to{};
    each_of_attributes(to, from, to_left);
    each_of_path(to.path, from.dest, to_left);
    std::memcpy(to.path.dgid.raw, from.dest.dgid, sizeof(to.path.dgid.raw));
    to.path.global = from.dest.is_global != 0;
    to.current = from.cur_qp_state;
    return to;
}

void put_attributes(const qp_attributes &from, ib_uverbs_query_qp_resp &to) noexcept
{
    each_of_attributes(from, to, to_right);
    each_of_path(from.path, to.dest, to_right);
    std::memcpy(to.dest.dgid, from.path.dgid.raw, sizeof(to.dest.dgid));
    to.dest.is_global = from.path.global ? 1 : 0;
}

} // namespace

int uverbs_file::make_qp(const ib_uverbs_create_qp &request, const mlx5_ib_create_qp &driver,
                         ib_uverbs_create_qp_resp &reply, mlx5_ib_create_qp_resp &more)
{
    if ((driver.flags & ~known_flags) != 0) {
        return EOPNOTSUPP; // signatures, tunnels, DC, registers by page
    }
    qp_request want{};
    want.type = request.qp_type;
    want.sq_signal_all = request.sq_sig_all != 0;
    want.scatter_to_cqe = (driver.flags & MLX5_QP_FLAG_SCATTER_CQE) != 0;
    want.allow_scatter_to_cqe = (driver.flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE) != 0;
    want.pd = request.pd_handle;
    want.send_cq = request.send_cq_handle;
    want.recv_cq = request.recv_cq_handle;
    want.srq = request.is_srq != 0 ? request.srq_handle : no_index;
    want.max_send_wr = request.max_send_wr;
    want.max_recv_wr = request.max_recv_wr;
    want.max_send_sge = request.max_send_sge;
    want.max_recv_sge = request.max_recv_sge;
    want.max_inline = request.max_inline_data;
    want.sq_blocks = driver.sq_wqe_count;
    want.rq_size = request.is_srq != 0 ? 0 : driver.rq_wqe_count;
    want.rq_shift = driver.rq_wqe_shift;
    want.uidx = driver.uidx;
    want.buffer = driver.buf_addr;
    want.doorbell = driver.db_addr;
    want.user_handle = request.user_handle;
    int error = model([&](core &world) {
        return swhca::create_qp(world, context_, want, reply.qp_handle, reply.qpn);
    });
    if (error != 0) {
        return error;
    }
    reply.max_send_wr = request.max_send_wr;
    reply.max_recv_wr = want.rq_size;
    reply.max_send_sge = request.max_send_sge;
    reply.max_recv_sge = request.max_recv_sge;
    reply.max_inline_data = request.max_inline_data;
    more.bfreg_index = (driver.flags & MLX5_QP_FLAG_BFREG_INDEX) != 0 ? 0 : take_bfreg();
    return 0;
}

int uverbs_file::create_qp(command_reader &in)
{
    ib_uverbs_create_qp request{};
    mlx5_ib_create_qp driver{};
    if (!in.read(request, driver)) {
        return EINVAL;
    }
    ib_uverbs_create_qp_resp reply{};
    mlx5_ib_create_qp_resp more{};
    int error = make_qp(request, driver, reply, more);
    return error != 0 ? error : in.reply(memory_, reply, more);
}

int uverbs_file::create_qp_extended(command_reader &in)
{
    ib_uverbs_ex_create_qp request{};
    mlx5_ib_create_qp driver{};
    if (!in.read(request, driver)) {
        return EINVAL;
    }
    if (request.comp_mask != 0 || request.create_flags != 0) {
        return EOPNOTSUPP;
    }
    ib_uverbs_create_qp core{};
    core.user_handle = request.user_handle;
    core.pd_handle = request.pd_handle;
    core.send_cq_handle = request.send_cq_handle;
    core.recv_cq_handle = request.recv_cq_handle;
    core.srq_handle = request.srq_handle;
    core.max_send_wr = request.max_send_wr;
    core.max_recv_wr = request.max_recv_wr;
    core.max_send_sge = request.max_send_sge;
    core.max_recv_sge = request.max_recv_sge;
    core.max_inline_data = request.max_inline_data;
    core.sq_sig_all = request.sq_sig_all;
    core.qp_type = request.qp_type;
    core.is_srq = request.is_srq;
    ib_uverbs_ex_create_qp_resp reply{};
    mlx5_ib_create_qp_resp more{};
    int error = make_qp(core, driver, reply.base, more);
    reply.response_length = sizeof(reply);
    return error != 0 ? error : in.reply(memory_, reply, more);
}

int uverbs_file::query_qp(command_reader &in)
{
    ib_uverbs_query_qp request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    uint8_t state = 0;
    qp_attributes attr{};
    ib_uverbs_query_qp_resp reply{};
    uint32_t handle = request.qp_handle;
    const qp *found = nullptr;
    int error = model([&](core &world) {
        found = &world.shared.qps[handle % max_qps];
        return swhca::query_qp(world, context_, handle, state, attr);
    });
    if (error != 0) {
        return error;
    }
    // These do not change while the QP lives.
    reply.max_send_wr = found->max_send_wr;
    reply.max_recv_wr = found->rq_size;
    reply.max_send_sge = found->max_send_sge;
    reply.max_recv_sge = found->max_recv_sge;
    reply.max_inline_data = found->max_inline;
    reply.sq_sig_all = found->sq_signal_all ? 1 : 0;
    reply.qp_state = reply.cur_qp_state = state;
    put_attributes(attr, reply);
    return in.reply(memory_, reply);
}

int uverbs_file::modify_qp(command_reader &in)
{
    ib_uverbs_modify_qp request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    uint32_t handle = request.qp_handle;
    uint32_t mask = request.attr_mask;
    uint8_t state = request.qp_state;
    qp_attributes attr = to_attributes(request);
    int error = model(
        [&](core &world) { return swhca::modify_qp(world, context_, handle, mask, state, attr); });
    if (error != 0 || !in.extended()) {
        return error;
    }
    ib_uverbs_ex_modify_qp_resp reply{};
    reply.response_length = sizeof(reply);
    mlx5_ib_modify_qp_resp more{};
    more.response_length = sizeof(more);
    return in.reply(memory_, reply, more);
}

int uverbs_file::destroy_qp(command_reader &in)
{
    ib_uverbs_destroy_qp request{};
    if (!in.read(request)) {
        return EINVAL;
    }
    ib_uverbs_destroy_qp_resp reply{};
    uint64_t user_handle = 0;
    event_count events{};
    int error = model([&](core &world) {
        user_handle = world.shared.qps[request.qp_handle % max_qps].user_handle;
        return swhca::destroy_qp(world, context_, request.qp_handle, events);
    });
    if (error != 0) {
        return error;
    }
    reply.events_reported =
        reported(events, async_.withdraw(user_handle, sizeof(ib_uverbs_async_event_desc)),
                 user_handle + offsetof(ibv_qp, events_completed));
    return in.reply(memory_, reply);
}

} // namespace ufx::swhca
