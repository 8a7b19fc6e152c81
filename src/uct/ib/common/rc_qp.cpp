// SPDX-License-Identifier: BSD-3-Clause
// State transitions of RC queue pairs.
#include "rc_qp.h"

#include "kernel_order.h"

#include "ucs/log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ufx::uct::ib {

namespace {

constexpr uint8_t first_mtu_shift = 7; // IBV_MTU_256 is 1

ibv_mtu mtu_of(uint8_t shift)
{
    return static_cast<ibv_mtu>(shift - first_mtu_shift);
}

ibv_ah_attr way_to(const port_path &path, const port_address &peer, const rc_config &config)
{
    ibv_ah_attr way{};
    way.port_num = path.port;
    way.sl = config.service_level;
    way.dlid = peer.lid;
    if (path.ethernet) {
        way.is_global = 1;
        std::memcpy(way.grh.dgid.raw, peer.gid.data(), peer.gid.size());
        way.grh.sgid_index = path.gid_index;
        way.grh.hop_limit = config.hop_limit;
        way.grh.traffic_class = config.traffic_class;
    }
    return way;
}

void warn_refused(const ibv_qp *qp, const char *step, int error)
{
    ufx_warn("queue pair 0x%06x cannot go to %s: %s", qp->qp_num, step, std::strerror(error));
}

} // namespace

ucs::result<rc_qp> rc_qp::create(const params &wanted, uint8_t port) noexcept
{
    ibv_qp_init_attr_ex init{};
    init.comp_mask = IBV_QP_INIT_ATTR_PD;
    init.pd = wanted.pd;
    init.qp_type = IBV_QPT_RC;
    init.send_cq = wanted.send_cq;
    init.recv_cq = wanted.receive_cq;
    init.srq = wanted.srq;
    init.cap.max_send_wr = wanted.max_requests;
    init.cap.max_send_sge = wanted.max_pieces;
    init.cap.max_inline_data = wanted.max_copied;
    qp_owner qp(wanted.make(wanted.pd->context, init));
    if (qp == nullptr) {
        const int error = errno;
        ufx_warn("no queue pair of %u requests, %u pieces, %u bytes inline: %s",
                 wanted.max_requests, wanted.max_pieces, wanted.max_copied, std::strerror(error));
        return error == ENOMEM ? UFX_ERR_NO_MEMORY : UFX_ERR_IO;
    }
    object_made(wanted.pd->context);
    rc_qp made(std::move(qp));
    if (const int error = made.initialize(port); error != 0) {
        warn_refused(made.get(), "INIT", error);
        return UFX_ERR_IO;
    }
    return made;
}

int rc_qp::initialize(uint8_t port) noexcept
{
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = port;
    attr.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    return ibv_modify_qp(get(), &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

// Out of RTR, where it would receive from a peer for which nobody listens. Nothing was posted yet.
void rc_qp::start_over(uint8_t port) noexcept
{
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    int error = ibv_modify_qp(get(), &attr, IBV_QP_STATE);
    if (error == 0) {
        error = initialize(port);
    }
    if (error != 0) {
        warn_refused(get(), "INIT again", error);
    }
}

connected rc_qp::connect(const port_path &path, const port_address &peer_port,
                         const qp_address &peer, uint32_t own_psn, uint8_t mtu_shift,
                         const rc_config &config) noexcept
{
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = mtu_of(mtu_shift);
    attr.dest_qp_num = peer.qpn;
    attr.rq_psn = peer.psn;
    attr.max_dest_rd_atomic = static_cast<uint8_t>(config.max_reads);
    attr.min_rnr_timer = config.budget.min_rnr_timer;
    attr.ah_attr = way_to(path, peer_port, config);
    int error = ibv_modify_qp(get(), &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error != 0) {
        warn_refused(get(), "RTR", error);
        return error == EINVAL ? connected::path_refused : connected::no;
    }
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = own_psn;
    attr.timeout = config.budget.timeout;
    attr.retry_cnt = config.budget.retry_count;
    attr.rnr_retry = config.budget.rnr_retry;
    attr.max_rd_atomic = static_cast<uint8_t>(std::min(config.max_own_reads, peer.max_reads));
    error = ibv_modify_qp(get(), &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error != 0) {
        warn_refused(get(), "RTS", error);
        start_over(path.port);
        return connected::no;
    }
    return connected::yes;
}

ufx_status_t rc_qp::break_it() noexcept
{
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(get(), &attr, IBV_QP_STATE) == 0 ? UFX_OK : UFX_ERR_IO;
}

bool rc_qp::destroy() noexcept
{
    ibv_qp *qp = qp_.release();
    if (const int error = ibv_destroy_qp(qp); error != 0) {
        ufx_warn("queue pair 0x%06x cannot be destroyed: %s", qp->qp_num, std::strerror(error));
        qp_.reset(qp); // tried once more at the end
        return false;
    }
    return true;
}

ucs::result<uint32_t> rc_qp::expected_psn() const noexcept
{
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (ibv_query_qp(get(), &attr, IBV_QP_RQ_PSN, &init) != 0) {
        return UFX_ERR_IO;
    }
    return attr.rq_psn;
}

ucs::result<uint32_t> rc_qp::final_psn() const noexcept
{
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (ibv_query_qp(get(), &attr, IBV_QP_STATE | IBV_QP_RQ_PSN, &init) != 0 ||
        attr.qp_state != IBV_QPS_ERR) {
        return UFX_ERR_IO;
    }
    return attr.rq_psn;
}

const char *rc_qp::state_name() const noexcept
{
    static constexpr const char *names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (!exists()) {
        return "gone";
    }
    const bool known = ibv_query_qp(get(), &attr, IBV_QP_STATE, &init) == 0;
    return known && attr.qp_state <= IBV_QPS_ERR ? names[attr.qp_state] : "in an unknown state";
}

} // namespace ufx::uct::ib
