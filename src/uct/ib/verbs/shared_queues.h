// SPDX-License-Identifier: BSD-3-Clause
// The queues of an iface through libibverbs: completions and receive buffers of all eps.
#ifndef UFX_UCT_IB_VERBS_SHARED_QUEUES_H
#define UFX_UCT_IB_VERBS_SHARED_QUEUES_H

#include "uct/ib/common/rc_resources.h"
#include "uct/ib/common/send_request.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ufx::uct::ib::verbs {

class shared_queues {
public:
    [[nodiscard]] static ucs::result<shared_queues> take(const rc_resources &resources);

    // Calls handle(qpn, id, error) for up to `most` completions; `error` is nullptr for a good one.
    template <class F>
    unsigned poll_sends(unsigned most, F &&handle) noexcept
    {
        return poll(sends_, most, [&](const ibv_wc &wc) {
            if (wc.status == IBV_WC_SUCCESS) {
                handle(wc.qp_num, wc.wr_id, static_cast<const send_error *>(nullptr));
            } else {
                const send_error error{wc.status, wc.vendor_err};
                handle(wc.qp_num, wc.wr_id, &error);
            }
        });
    }

    // Calls handle(qpn, slot, length, good) for up to `most` messages.
    template <class F>
    unsigned poll_receives(unsigned most, F &&handle) noexcept
    {
        const unsigned count = poll(receives_, most, [&](const ibv_wc &wc) {
            handle(wc.qp_num, static_cast<uint32_t>(wc.wr_id), size_t{wc.byte_len},
                   wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV);
        });
        publish();
        return count;
    }

    // Receives that were handled, and those with all that are there now. Both wrap.
    [[nodiscard]] uint32_t receives_handled() const noexcept { return receives_.handled; }

    [[nodiscard]] uint32_t receives_end() noexcept
    {
        take_in(receives_);
        return receives_.handled + static_cast<uint32_t>(receives_.waiting.size());
    }

    [[nodiscard]] uint32_t slots() const noexcept { return static_cast<uint32_t>(buffers_.size()); }

    void set_buffer(uint32_t slot, void *address, uint32_t length, uint32_t lkey) noexcept
    {
        buffers_[slot] = {reinterpret_cast<uint64_t>(address), length, lkey};
    }

    // Posted at the end of a poll of receives, or by publish().
    void give(uint32_t slot) noexcept
    {
        given_.push_back(slot);
        unpublished_ = true;
    }

    void publish() noexcept
    {
        if (unpublished_) {
            unpublished_ = false; // what is refused waits for the next one that is given
            post_given();
        }
    }

    [[nodiscard]] ufx_status_t give_all() noexcept;

    // Looks, and keeps what it finds for the next poll.
    [[nodiscard]] bool has_completion() noexcept;

    // False: a poll would find nothing.
    [[nodiscard]] static constexpr bool is_worth_a_poll() noexcept { return true; }

    [[nodiscard]] ufx_status_t arm() noexcept;

    void count_event(const ibv_cq *) noexcept {}

    // Before the queue pair is destroyed, by which libibverbs would forget what it has received:
    // calls give(slot) for that.
    template <class F>
    void remove_of(uint32_t qpn, F &&give) noexcept
    {
        take_in(sends_);
        std::erase_if(sends_.waiting, [&](const ibv_wc &wc) { return wc.qp_num == qpn; });
        take_in(receives_);
        receives_.handled +=
            static_cast<uint32_t>(std::erase_if(receives_.waiting, [&](const ibv_wc &wc) {
                if (wc.qp_num == qpn) {
                    give(static_cast<uint32_t>(wc.wr_id));
                }
                return wc.qp_num == qpn;
            }));
        publish();
    }

private:
    explicit shared_queues(const rc_resources &resources);

    struct queue {
        ibv_cq *cq;
        std::vector<ibv_wc> waiting; // taken in and not handed out; has room for all
        uint32_t handled = 0;        // handed out; wraps
    };

    // All that the queue holds.
    void take_in(queue &from) noexcept;

    template <class F>
    unsigned poll(queue &from, unsigned most, F &&handle) noexcept
    {
        std::array<ibv_wc, 16> batch;
        unsigned count = 0;
        while (count < most) {
            const size_t room = std::min<size_t>(batch.size(), most - count);
            const size_t found = next_of(from, {batch.data(), room});
            for (size_t i = 0; i < found; i++) {
                from.handled++;
                handle(batch[i]);
            }
            count += static_cast<unsigned>(found);
            if (found < room) {
                break;
            }
        }
        return count;
    }

    [[nodiscard]] static size_t next_of(queue &from, std::span<ibv_wc> room) noexcept;

    void post_given() noexcept;

    queue sends_;
    queue receives_;
    ibv_srq *srq_;
    std::vector<ibv_sge> buffers_; // by slot
    std::vector<uint32_t> given_;  // to be posted; has room for all
    bool unpublished_ = false;
};

} // namespace ufx::uct::ib::verbs

#endif
