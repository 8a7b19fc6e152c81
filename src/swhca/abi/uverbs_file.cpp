// SPDX-License-Identifier: BSD-3-Clause
// Dispatch, and the commands about the device and its port. What is not modelled is refused by the
// errno that an old kernel gives, so that a program falls back.
#include "uverbs_file.h"

#include "swhca/fabric/wakeup.h"
#include "swhca/model/verbs.h"
#include "ucs/bytes.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <infiniband/verbs.h>
#include <rdma/mlx5-abi.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t mlx5_vendor = 0x02c9; // the IEEE number; the PCI one is in the sysfs tree
constexpr uint32_t connectx5 = 0x1019; // as in the sysfs tree
constexpr uint64_t firmware = 22ull << 32 | 38ull << 16 | 1000;
constexpr uint32_t page_shift = 12;
constexpr uint32_t bfregs_per_uar = 4; // of which two are for data

ib_uverbs_query_device_resp describe(const hca &one) noexcept
{
    ib_uverbs_query_device_resp out{};
    out.fw_ver = firmware;
    ucs::store_be<uint64_t>(&out.node_guid, one.guid);
    ucs::store_be<uint64_t>(&out.sys_image_guid, one.guid);
    out.max_mr_size = UINT64_MAX;
    out.page_size_cap = 0xfffffffffffff000;
    out.vendor_id = mlx5_vendor;
    out.vendor_part_id = connectx5;
    out.max_qp = max_qps;
    out.max_qp_wr = 32768;
    out.device_cap_flags = IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
                           IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_CURR_QP_STATE_MOD |
                           IBV_DEVICE_CHANGE_PHY_PORT;
    out.max_sge = 30;
    out.max_sge_rd = 30;
    out.max_cq = max_cqs;
    out.max_cqe = (1 << 22) - 1;
    out.max_mr = max_mrs;
    out.max_pd = max_pds;
    out.max_qp_rd_atom = max_rd_atomic;
    out.max_res_rd_atom = max_qps * max_rd_atomic;
    out.max_qp_init_rd_atom = max_rd_atomic;
    out.atomic_cap = IBV_ATOMIC_HCA;
    out.max_ah = INT32_MAX;
    out.max_srq = max_srqs;
    out.max_srq_wr = 32767;
    out.max_srq_sge = 31;
    out.max_pkeys = max_pkeys;
    out.local_ca_ack_delay = 16;
    out.phys_port_cnt = 1;
    return out;
}

// Speed codes of IBA 1.4, table 154: one lane, or four of the fastest that is not above the rate.
void set_speed(uint64_t rate_bps, ib_uverbs_query_port_resp &out) noexcept
{
    constexpr uint64_t gbit = 1000000000;
    out.active_width = 2; // 4 lanes
    out.active_speed = rate_bps == 0 || rate_bps >= 100 * gbit ? 32
                       : rate_bps >= 50 * gbit                 ? 16
                       : rate_bps >= 40 * gbit                 ? 4
                       : rate_bps >= 20 * gbit                 ? 2
                                                               : 1;
    if (rate_bps != 0 && rate_bps <= 2 * gbit + gbit / 2) {
        out.active_width = 1;
    }
}

// What the page with this number is of: enum mlx5_ib_mmap_cmd.
uint32_t mapped(uint64_t number) noexcept
{
    return static_cast<uint32_t>(number >> 8 & 0xff);
}

} // namespace

uverbs_file::~uverbs_file()
{
    if (context_ != no_index) {
        (void)model([&](core &world) {
            close_context(world, context_);
            return 0;
        });
    }
}

int uverbs_file::command(std::span<const std::byte> bytes, uint64_t now_ns)
{
    now_ns_ = now_ns;
    command_reader in;
    if (int error = in.open(bytes); error != 0) {
        return error;
    }
    bool opens = !in.extended() && in.number() == IB_USER_VERBS_CMD_GET_CONTEXT;
    if (opens != (context_ == no_index)) {
        return EINVAL;
    }
    if (!opens && engine_.shared().contexts[context_].dead) {
        bool cleans_up = in.number() == IB_USER_VERBS_CMD_DEALLOC_PD ||
                         in.number() == IB_USER_VERBS_CMD_DEREG_MR ||
                         in.number() == IB_USER_VERBS_CMD_DESTROY_CQ ||
                         in.number() == IB_USER_VERBS_CMD_DESTROY_QP ||
                         in.number() == IB_USER_VERBS_CMD_DESTROY_SRQ;
        if (!cleans_up || in.extended()) {
            return EIO;
        }
    }
    return in.extended() ? extended(in) : plain(in);
}

int uverbs_file::plain(command_reader &in)
{
    switch (in.number()) {
    case IB_USER_VERBS_CMD_GET_CONTEXT:
        return get_context(in);
    case IB_USER_VERBS_CMD_QUERY_DEVICE:
        return query_device(in);
    case IB_USER_VERBS_CMD_QUERY_PORT:
        return query_port(in);
    case IB_USER_VERBS_CMD_ALLOC_PD:
        return alloc_pd(in);
    case IB_USER_VERBS_CMD_DEALLOC_PD:
        return dealloc_pd(in);
    case IB_USER_VERBS_CMD_REG_MR:
        return reg_mr(in);
    case IB_USER_VERBS_CMD_REREG_MR:
        return rereg_mr(in);
    case IB_USER_VERBS_CMD_DEREG_MR:
        return dereg_mr(in);
    case IB_USER_VERBS_CMD_CREATE_AH:
        return create_ah(in);
    case IB_USER_VERBS_CMD_DESTROY_AH:
        return 0; // an address handle is nothing but what its owner keeps
    case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
        return create_channel(in);
    case IB_USER_VERBS_CMD_CREATE_CQ:
        return create_cq(in);
    case IB_USER_VERBS_CMD_DESTROY_CQ:
        return destroy_cq(in);
    case IB_USER_VERBS_CMD_CREATE_SRQ:
        return create_srq(in);
    case IB_USER_VERBS_CMD_MODIFY_SRQ:
        return modify_srq(in);
    case IB_USER_VERBS_CMD_QUERY_SRQ:
        return query_srq(in);
    case IB_USER_VERBS_CMD_DESTROY_SRQ:
        return destroy_srq(in);
    case IB_USER_VERBS_CMD_CREATE_QP:
        return create_qp(in);
    case IB_USER_VERBS_CMD_QUERY_QP:
        return query_qp(in);
    case IB_USER_VERBS_CMD_MODIFY_QP:
        return modify_qp(in);
    case IB_USER_VERBS_CMD_DESTROY_QP:
        return destroy_qp(in);
    default:
        return EOPNOTSUPP;
    }
}

int uverbs_file::extended(command_reader &in)
{
    switch (in.number()) {
    case IB_USER_VERBS_EX_CMD_QUERY_DEVICE:
        return query_device_extended(in);
    case IB_USER_VERBS_EX_CMD_CREATE_CQ:
        return create_cq_extended(in);
    case IB_USER_VERBS_EX_CMD_MODIFY_CQ:
        return modify_cq(in);
    case IB_USER_VERBS_EX_CMD_CREATE_QP:
        return create_qp_extended(in);
    case IB_USER_VERBS_EX_CMD_MODIFY_QP:
        return modify_qp(in);
    default:
        return EOPNOTSUPP;
    }
}

int uverbs_file::get_context(command_reader &in)
{
    ib_uverbs_get_context core{};
    mlx5_ib_alloc_ucontext_req_v2 driver{};
    if (!in.read(core, driver)) {
        return EINVAL;
    }
    if ((driver.flags & MLX5_IB_ALLOC_UCTX_DEVX) != 0) {
        return EPERM; // the provider tries again without
    }
    ucs::result<event_pipe> events = event_pipe::create();
    if (!events) {
        return EMFILE;
    }
    int write_end = events->write_end();
    int error =
        model([&](struct core &world) { return open_context(world, hca_, write_end, context_); });
    if (error != 0) {
        ::close(events->read_end());
        return error;
    }
    async_ = std::move(*events);
    ib_uverbs_get_context_resp reply{};
    reply.async_fd = static_cast<uint32_t>(async_.read_end());
    reply.num_comp_vectors = num_comp_vectors;
    mlx5_ib_alloc_ucontext_resp more{};
    more.qp_tab_size = 1u << 18;
    more.bf_reg_size = 512;
    more.tot_bfregs = driver.total_num_bfregs;
    more.cache_line_size = 64;
    more.max_sq_desc_sz = 1024;
    more.max_rq_desc_sz = 512;
    more.max_send_wqebb = 32768;
    more.max_recv_wr = 32768;
    more.max_srq_recv_wr = 32767;
    more.num_ports = 1;
    more.response_length = sizeof(more);
    more.cqe_version = driver.max_cqe_version > 0 ? 1 : 0;
    more.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
    more.eth_min_inline = MLX5_USER_INLINE_MODE_NONE;
    more.log_uar_size = page_shift;
    more.num_uars_per_page = 1;
    more.num_dyn_bfregs = 512; // with none, thread domains fail
    more.clock_info_versions = 1u << MLX5_IB_CLOCK_INFO_V1;
    next_bfreg_ = 0;
    bfregs_ = driver.total_num_bfregs;
    return in.reply(memory_, reply, more);
}

int uverbs_file::query_device(command_reader &in)
{
    ib_uverbs_query_device core{};
    if (!in.read(core)) {
        return EINVAL;
    }
    return in.reply(memory_, describe(engine_.shared().hcas[hca_]));
}

int uverbs_file::query_device_extended(command_reader &in)
{
    ib_uverbs_ex_query_device core{};
    if (!in.read(core) || core.comp_mask != 0) {
        return EINVAL;
    }
    ib_uverbs_ex_query_device_resp reply{};
    reply.base = describe(engine_.shared().hcas[hca_]);
    reply.response_length = sizeof(reply);
    reply.timestamp_mask = UINT64_MAX;
    reply.hca_core_clock = 1000000; // kHz: CQE timestamps count nanoseconds
    reply.cq_moderation_caps.max_cq_moderation_count = max_cq_count;
    reply.cq_moderation_caps.max_cq_moderation_period = max_cq_period_us;
    mlx5_ib_query_device_resp driver{};
    driver.response_length = sizeof(driver);
    driver.flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD;
    return in.reply(memory_, reply, driver);
}

int uverbs_file::query_port(command_reader &in)
{
    ib_uverbs_query_port core{};
    if (!in.read(core) || core.port_num != 1) {
        return EINVAL;
    }
    const port &one = engine_.shared().hcas[hca_].port;
    ib_uverbs_query_port_resp reply{};
    bool ethernet = one.link_layer == IBV_LINK_LAYER_ETHERNET;
    reply.port_cap_flags = ethernet ? 0x04010000 : 0x2251e848; // as ConnectX devices answer
    reply.max_msg_sz = 1u << 30;
    reply.gid_tbl_len = max_gids;
    reply.pkey_tbl_len = static_cast<uint16_t>(pkey_count(one));
    reply.lid = one.lid;
    reply.sm_lid = ethernet ? 0 : 1;
    reply.state = one.state;
    reply.max_mtu = IBV_MTU_4096;
    reply.active_mtu = one.mtu;
    reply.max_vl_num = 1;
    reply.phys_state = one.phys_state;
    reply.link_layer = one.link_layer;
    reply.flags = ethernet ? IBV_QPF_GRH_REQUIRED : 0;
    set_speed(one.rate_bps, reply);
    return in.reply(memory_, reply);
}

bool uverbs_file::clock_page(uint64_t offset) noexcept
{
    uint64_t number = offset >> page_shift;
    return mapped(number) == MLX5_IB_MMAP_CLOCK_INFO && (number & 0xff) == MLX5_IB_CLOCK_INFO_V1;
}

// Timestamps of CQEs are nanoseconds of the fabric's clock, so that one look is good for ever.
void uverbs_file::write_clock_page(void *page, uint64_t now_ns) noexcept
{
    timespec wall{};
    mlx5_ib_clock_info info{};
    info.cycles = now_ns;
    (void)::clock_gettime(CLOCK_REALTIME, &wall);
    info.nsec = static_cast<uint64_t>(wall.tv_sec) * ns_per_s + static_cast<uint64_t>(wall.tv_nsec);
    info.mult = 1;
    info.mask = UINT64_MAX;
    info.overflow_period = UINT64_MAX / 2;
    std::memcpy(page, &info, sizeof(info));
}

bool uverbs_file::doorbell_page(uint64_t offset, uint32_t &page) noexcept
{
    uint64_t number = offset >> page_shift;
    uint32_t what = mapped(number);
    // The low byte and the one above the command are the index.
    page = static_cast<uint32_t>(number & 0xff) | static_cast<uint32_t>(number >> 16 & 0xff) << 8;
    return what == MLX5_IB_MMAP_REGULAR_PAGE || what == MLX5_IB_MMAP_NC_PAGE ||
           what == MLX5_IB_MMAP_WC_PAGE || what == MLX5_IB_MMAP_ALLOC_WC;
}

// QPs get registers of the pages behind the first, on which completion queues are armed.
uint32_t uverbs_file::take_bfreg() noexcept
{
    constexpr uint32_t for_data = 2;
    uint32_t pages = bfregs_ / for_data;
    if (!options_.own_registers || pages < 2) {
        return 0;
    }
    uint32_t number = next_bfreg_++ % ((pages - 1) * for_data);
    return (1 + number / for_data) * bfregs_per_uar + number % for_data;
}

} // namespace ufx::swhca
