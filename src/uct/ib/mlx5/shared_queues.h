// SPDX-License-Identifier: BSD-3-Clause
// The queues of an iface on an mlx5 device: completions and receive buffers of all eps.
#ifndef UFX_UCT_IB_MLX5_SHARED_QUEUES_H
#define UFX_UCT_IB_MLX5_SHARED_QUEUES_H

#include "completion_queue.h"
#include "shared_receive_queue.h"

#include "uct/ib/common/rc_resources.h"
#include "uct/ib/common/send_request.h"

namespace ufx::uct::ib::mlx5 {

class shared_queues {
public:
    [[nodiscard]] static ucs::result<shared_queues> take(const rc_resources &resources);

    // Calls handle(qpn, id, error) for up to `most` completions; `error` is nullptr for a good one.
    template <class F>
    unsigned poll_sends(unsigned most, F &&handle) noexcept
    {
        unsigned count = 0;
        while (count < most && sends_.has_next()) {
            const mlx5_cqe64 &cqe = sends_.next();
            ++count;
            const uint32_t qpn = qpn_of(cqe);
            const uint16_t id = be16toh(cqe.wqe_counter);
            if (is_request_done(cqe)) [[likely]] {
                sends_.pop();
                handle(qpn, id, static_cast<const send_error *>(nullptr));
            } else {
                const send_error error = error_of(cqe);
                sends_.pop();
                handle(qpn, id, &error);
            }
        }
        if (count != 0) {
            sends_.publish();
        }
        return count;
    }

    // Calls handle(qpn, slot, length, good) for up to `most` messages.
    template <class F>
    unsigned poll_receives(unsigned most, F &&handle) noexcept
    {
        unsigned count = 0;
        while (count < most && receives_.has_next()) {
            const mlx5_cqe64 &cqe = receives_.next();
            ++count;
            const uint32_t qpn = qpn_of(cqe);
            const uint32_t slot = be16toh(cqe.wqe_counter);
            const uint32_t length = be32toh(cqe.byte_cnt);
            const bool good = (cqe.op_own >> 4) == MLX5_CQE_RESP_SEND;
            receives_.pop();
            handle(qpn, slot, size_t{length}, good);
        }
        if (count != 0) {
            receives_.publish();
        }
        slots_.publish();
        return count;
    }

    // Receives that were handled, and those with all that are there now. Both wrap.
    [[nodiscard]] uint32_t receives_handled() const noexcept { return receives_.position(); }

    [[nodiscard]] uint32_t receives_end() noexcept { return receives_.end(); }

    [[nodiscard]] uint32_t slots() const noexcept { return slots_.slots(); }

    void set_buffer(uint32_t slot, void *address, uint32_t length, uint32_t lkey) noexcept
    {
        slots_.set_buffer(slot, address, length, lkey);
    }

    // Seen by the device at the end of a poll of receives, or after publish().
    void give(uint32_t slot) noexcept { slots_.give(slot); }

    void publish() noexcept { slots_.publish(); }

    [[nodiscard]] ufx_status_t give_all() noexcept
    {
        slots_.give_all();
        return UFX_OK;
    }

    [[nodiscard]] bool has_completion() const noexcept
    {
        return sends_.has_next() || receives_.has_next();
    }

    // False: a poll would find nothing.
    [[nodiscard]] bool is_worth_a_poll() const noexcept { return has_completion(); }

    [[nodiscard]] ufx_status_t arm() noexcept
    {
        sends_.arm();
        receives_.arm();
        return UFX_OK;
    }

    void count_event(const ibv_cq *cq) noexcept
    {
        (cq == send_cq_ ? sends_ : receives_).count_event();
    }

    // Completions of a queue pair that is gone; calls give(slot) for what it had received.
    template <class F>
    void remove_of(uint32_t qpn, F &&give) noexcept
    {
        sends_.remove_of(qpn, [](const mlx5_cqe64 &) {});
        receives_.remove_of(qpn, [&](const mlx5_cqe64 &cqe) { give(be16toh(cqe.wqe_counter)); });
        slots_.publish();
    }

private:
    shared_queues(const ibv_cq *send_cq, completion_queue sends, completion_queue receives,
                  shared_receive_queue slots) noexcept
        : send_cq_(send_cq), sends_(sends), receives_(receives), slots_(slots)
    {
    }

    [[nodiscard]] static send_error error_of(const mlx5_cqe64 &cqe) noexcept;

    const ibv_cq *send_cq_;
    completion_queue sends_;
    completion_queue receives_;
    shared_receive_queue slots_;
};

} // namespace ufx::uct::ib::mlx5

#endif
