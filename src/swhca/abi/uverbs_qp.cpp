// SPDX-License-Identifier: BSD-3-Clause
// Commands about queue pairs.
#include "uverbs_file.h"

#include "swhca/model/verbs.h"

#include <cerrno>
#include <infiniband/verbs.h>
#include <rdma/mlx5-abi.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t known_flags =
    MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_BFREG_INDEX | MLX5_QP_FLAG_ALLOW_SCATTER_CQE;

path to_path(const ib_uverbs_qp_dest &from) noexcept
{
    path to{};
    std::memcpy(to.dgid.raw, from.dgid, sizeof(to.dgid.raw));
    to.dlid = from.dlid;
    to.sgid_index = from.sgid_index;
    to.sl = from.sl;
    to.hop_limit = from.hop_limit;
    to.traffic_class = from.traffic_class;
    to.src_path_bits = from.src_path_bits;
    to.static_rate = from.static_rate;
    to.global = from.is_global != 0;
    to.port_num = from.port_num;
    to.flow_label = from.flow_label;
    return to;
}

ib_uverbs_qp_dest from_path(const path &from) noexcept
{
    ib_uverbs_qp_dest to{};
    std::memcpy(to.dgid, from.dgid.raw, sizeof(to.dgid));
    to.dlid = from.dlid;
    to.sgid_index = from.sgid_index;
    to.sl = from.sl;
    to.hop_limit = from.hop_limit;
    to.traffic_class = from.traffic_class;
    to.src_path_bits = from.src_path_bits;
    to.static_rate = from.static_rate;
    to.is_global = from.global ? 1 : 0;
    to.port_num = from.port_num;
    to.flow_label = from.flow_label;
    return to;
}

qp_attributes to_attributes(const ib_uverbs_modify_qp &from) noexcept
{
    qp_attributes to{};
    to.current = from.cur_qp_state;
    to.mtu = from.path_mtu;
    to.timeout = from.timeout;
    to.retry_count = from.retry_cnt;
    to.rnr_retry = from.rnr_retry;
    to.min_rnr_timer = from.min_rnr_timer;
    to.max_rd_atomic = from.max_rd_atomic;
    to.max_dest_rd_atomic = from.max_dest_rd_atomic;
    to.port_num = from.port_num;
    to.pkey_index = from.pkey_index;
    to.access = from.qp_access_flags;
    to.qkey = from.qkey;
    to.dest_qpn = from.dest_qp_num;
    to.rq_psn = from.rq_psn;
    to.sq_psn = from.sq_psn;
    to.path = to_path(from.dest);
    return to;
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
    nothing driver;
    if (!in.read(request, driver)) {
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
    reply.dest = from_path(attr.path);
    reply.qkey = attr.qkey;
    reply.rq_psn = attr.rq_psn;
    reply.sq_psn = attr.sq_psn;
    reply.dest_qp_num = attr.dest_qpn;
    reply.qp_access_flags = attr.access;
    reply.pkey_index = attr.pkey_index;
    reply.qp_state = reply.cur_qp_state = state;
    reply.path_mtu = attr.mtu;
    reply.max_rd_atomic = attr.max_rd_atomic;
    reply.max_dest_rd_atomic = attr.max_dest_rd_atomic;
    reply.min_rnr_timer = attr.min_rnr_timer;
    reply.port_num = attr.port_num;
    reply.timeout = attr.timeout;
    reply.retry_cnt = attr.retry_count;
    reply.rnr_retry = attr.rnr_retry;
    return in.reply(memory_, reply, driver);
}

int uverbs_file::modify_qp(command_reader &in)
{
    ib_uverbs_modify_qp request{};
    nothing driver;
    if (!in.read(request, driver)) {
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
    nothing driver;
    if (!in.read(request, driver)) {
        return EINVAL;
    }
    ib_uverbs_destroy_qp_resp reply{};
    uint64_t user_handle = 0;
    int error = model([&](core &world) {
        user_handle = world.shared.qps[request.qp_handle % max_qps].user_handle;
        return swhca::destroy_qp(world, context_, request.qp_handle, reply.events_reported);
    });
    if (error != 0) {
        return error;
    }
    reply.events_reported -= async_.withdraw(user_handle, sizeof(ib_uverbs_async_event_desc));
    return in.reply(memory_, reply, driver);
}

} // namespace ufx::swhca
