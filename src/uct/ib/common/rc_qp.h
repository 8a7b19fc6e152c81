// SPDX-License-Identifier: BSD-3-Clause
// A reliable connected queue pair: made, connected, broken, asked.
#ifndef UFX_UCT_IB_COMMON_RC_QP_H
#define UFX_UCT_IB_COMMON_RC_QP_H

#include "address.h"
#include "config.h"
#include "device.h"

namespace ufx::uct::ib {

// What a connection uses of its port.
struct port_path {
    uint8_t port;
    bool ethernet;
    uint8_t gid_index;
    uint8_t mtu_shift; // of the port
};

enum class connected : uint8_t {
    yes,
    path_refused, // EINVAL on the way to RTR: another GID may do
    no,
};

class rc_qp {
public:
    struct params {
        ibv_pd *pd;
        ibv_cq *send_cq;
        ibv_cq *receive_cq;
        ibv_srq *srq;
        uint32_t max_requests;
        uint32_t max_pieces;
        uint32_t max_copied;
        ibv_qp *(*make)(ibv_context *context, ibv_qp_init_attr_ex &init); // as the device wants it
    };

    // In INIT, with remote access allowed.
    [[nodiscard]] static ucs::result<rc_qp> create(const params &wanted, uint8_t port) noexcept;

    // To RTS. Otherwise it is where it was before, and receives nothing.
    [[nodiscard]] connected connect(const port_path &path, const port_address &peer_port,
                                    const qp_address &peer, uint32_t own_psn, uint8_t mtu_shift,
                                    const rc_config &config) noexcept;

    // From any state; what is outstanding is flushed. IO: the device refuses.
    [[nodiscard]] ufx_status_t break_it() noexcept;

    // The next packet that its responder expects: final once it is broken and quiet.
    [[nodiscard]] ucs::result<uint32_t> expected_psn() const noexcept;

    // The same, if the device says that it is broken: then no packet can move it.
    [[nodiscard]] ucs::result<uint32_t> final_psn() const noexcept;

    // RTS, ERR, ... as the device says now; "gone" if it is not there. For logs: asks the kernel.
    [[nodiscard]] const char *state_name() const noexcept;

    [[nodiscard]] uint32_t number() const noexcept { return qp_->qp_num; }

    [[nodiscard]] ibv_qp *get() const noexcept { return qp_.get(); }

    [[nodiscard]] bool exists() const noexcept { return qp_ != nullptr; }

    // False: the device refuses, and it may still be alive.
    [[nodiscard]] bool destroy() noexcept;

private:
    using qp_owner = ucs::c_owner<ibv_qp, ibv_destroy_qp>;

    [[nodiscard]] int initialize(uint8_t port) noexcept;
    void start_over(uint8_t port) noexcept;

    explicit rc_qp(qp_owner qp) noexcept : qp_(std::move(qp)) {}

    qp_owner qp_;
};

} // namespace ufx::uct::ib

#endif
