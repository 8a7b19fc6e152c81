// SPDX-License-Identifier: BSD-3-Clause
// `swhca_probe CASE` runs one case, `swhca_probe --list` names them. It ends with 0 if all is well,
// with 1 and one line if not.
#include "probe.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

namespace {

constexpr int entries = 64;
constexpr int limit_s = 20;

template <class T>
T *made(T *what, const char *call)
{
    if (what == nullptr) {
        throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
    }
    return what;
}

ibv_context *open_hca(int number)
{
    int count = 0;
    ibv_device **list = made(ibv_get_device_list(&count), "ibv_get_device_list");
    ibv_context *opened = number < count ? ibv_open_device(list[number]) : nullptr;
    ibv_free_device_list(list);
    return made(opened, "ibv_open_device");
}

} // namespace

probe::probe(int hca) : context_(open_hca(hca))
{
    domain_ = made(ibv_alloc_pd(context_), "ibv_alloc_pd");
    channel_ = made(ibv_create_comp_channel(context_), "ibv_create_comp_channel");
    queue_ = made(ibv_create_cq(context_, entries, nullptr, channel_, 0), "ibv_create_cq");
    region_ =
        made(ibv_reg_mr(domain_, memory_.data(), memory_.size(),
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
             "ibv_reg_mr");
    for (ibv_qp *&each : pair_) {
        each = make_qp();
    }
}

probe::~probe()
{
    for (ibv_qp *each : pair_) {
        ibv_destroy_qp(each);
    }
    ibv_dereg_mr(region_);
    ibv_destroy_cq(queue_);
    ibv_destroy_comp_channel(channel_);
    ibv_dealloc_pd(domain_);
    ibv_close_device(context_);
}

ibv_qp *probe::make_qp(ibv_cq *completes_on)
{
    ibv_qp_init_attr want{};
    want.send_cq = want.recv_cq = completes_on;
    want.cap = {entries / 2, entries / 2, 1, 1, 0};
    want.qp_type = IBV_QPT_RC;
    return made(ibv_create_qp(domain_, &want), "ibv_create_qp");
}

void probe::connect(ibv_qp *one, uint32_t qpn, int hca)
{
    ibv_qp_attr want{};
    want.qp_state = IBV_QPS_INIT;
    want.port_num = 1;
    want.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    want.path_mtu = IBV_MTU_1024;
    want.dest_qp_num = qpn;
    want.max_rd_atomic = want.max_dest_rd_atomic = 1;
    want.min_rnr_timer = 1;
    want.timeout = 14;
    want.retry_cnt = want.rnr_retry = 7;
    want.ah_attr.is_global = 1;
    want.ah_attr.port_num = 1;
    want.ah_attr.grh.sgid_index = 1;
    const uint8_t mapped[] = {0xff, 0xff, 10, 77, 0, static_cast<uint8_t>(hca + 1)};
    std::memcpy(want.ah_attr.grh.dgid.raw + 10, mapped, sizeof(mapped));
    int failed = ibv_modify_qp(
        one, &want, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
    want.qp_state = IBV_QPS_RTR;
    failed += ibv_modify_qp(one, &want,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    want.qp_state = IBV_QPS_RTS;
    failed += ibv_modify_qp(one, &want,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (failed != 0) {
        throw std::runtime_error("ibv_modify_qp");
    }
}

void probe::connect_pair()
{
    connect(pair_[0], pair_[1]->qp_num);
    connect(pair_[1], pair_[0]->qp_num);
}

bool probe::post_write(ibv_qp *from, uint64_t to, uint32_t rkey, uint32_t bytes)
{
    ibv_sge piece{address(), bytes, region_->lkey};
    ibv_send_wr what{};
    ibv_send_wr *bad = nullptr;
    what.sg_list = &piece;
    what.num_sge = 1;
    what.opcode = IBV_WR_RDMA_WRITE;
    what.send_flags = IBV_SEND_SIGNALED;
    what.wr.rdma.remote_addr = to;
    what.wr.rdma.rkey = rkey;
    return ibv_post_send(from, &what, &bad) == 0;
}

bool probe::post_send(ibv_qp *from)
{
    ibv_sge piece{address(), 8, region_->lkey};
    ibv_send_wr what{};
    ibv_send_wr *bad = nullptr;
    what.sg_list = &piece;
    what.num_sge = 1;
    what.opcode = IBV_WR_SEND;
    what.send_flags = IBV_SEND_SIGNALED;
    return ibv_post_send(from, &what, &bad) == 0;
}

bool probe::post_receive(ibv_qp *to)
{
    ibv_sge piece{address() + 2048, 64, region_->lkey};
    ibv_recv_wr what{};
    ibv_recv_wr *bad = nullptr;
    what.sg_list = &piece;
    what.num_sge = 1;
    return ibv_post_recv(to, &what, &bad) == 0;
}

int probe::wait(ibv_cq *of)
{
    ibv_wc done{};
    for (still going(limit_s); going;) {
        int found = ibv_poll_cq(of, 1, &done);
        if (found != 0) {
            return found < 0 ? -1 : static_cast<int>(done.status);
        }
    }
    return -1;
}

bool probe::write()
{
    return post_write(pair_[0], address() + 1024, key()) && wait() == IBV_WC_SUCCESS;
}

int wait_for_child(int pid, int seconds)
{
    constexpr int ms_per_s = 1000;
    int status = 0;
    auto watched = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    pollfd end{watched, POLLIN, 0};
    bool ended = watched >= 0 && ::poll(&end, 1, seconds * ms_per_s) == 1;
    if (!ended) {
        ::kill(pid, SIGKILL);
    }
    ::waitpid(pid, &status, 0);
    ::close(watched);
    if (!ended) {
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace ufx::test

namespace {

using namespace ufx::test;

int run(const probe_case &one)
{
    verdict wrong = nullptr;
    std::string why;
    try {
        wrong = one.run();
    } catch (const std::exception &error) {
        why = error.what();
        wrong = why.c_str();
    }
    if (wrong != nullptr) {
        std::puts(wrong);
    }
    return wrong == nullptr ? 0 : 1;
}

} // namespace

int main(int count, char **words)
{
    std::string_view wanted(count == 2 ? words[1] : "--list");
    for (std::span<const probe_case> cases :
         {std::span<const probe_case>(descriptor_cases), std::span<const probe_case>(queue_cases),
          std::span<const probe_case>(region_cases), std::span<const probe_case>(signal_cases),
          std::span<const probe_case>(thread_cases),
          std::span<const probe_case>(scheduled_cases)}) {
        for (const probe_case &each : cases) {
            if (wanted == each.name) {
                return run(each);
            }
            if (wanted == "--list" && cases.data() != scheduled_cases.data()) {
                std::puts(each.name);
            }
        }
    }
    return wanted == "--list" ? 0 : 2;
}
