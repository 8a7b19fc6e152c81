// SPDX-License-Identifier: BSD-3-Clause
// The verbs objects that the eps of an iface share.
#ifndef UFX_UCT_IB_COMMON_RC_RESOURCES_H
#define UFX_UCT_IB_COMMON_RC_RESOURCES_H

#include "async_monitor.h"
#include "config.h"
#include "md.h"
#include "rc_port.h"
#include "wake_timer.h"

#include "ucs/event_loop.h"

#include <array>
#include <memory>

namespace ufx::uct::ib {

using channel_owner = ucs::c_owner<ibv_comp_channel, ibv_destroy_comp_channel>;
using cq_owner = ucs::c_owner<ibv_cq, ibv_destroy_cq>;
// Verbs has it as a static function.
inline void dealloc_td(ibv_td *td) noexcept
{
    ibv_dealloc_td(td);
}

using td_owner = ucs::c_owner<ibv_td, dealloc_td>;
using srq_owner = ucs::c_owner<ibv_srq, ibv_destroy_srq>;

// In the order in which they are made; destroyed in reverse.
struct rc_resources {
    td_owner own_register;     // with BlueFlame: a doorbell register that no other iface uses
    pd_owner pd_with_register; // its queue pairs ring that one
    std::unique_ptr<uint32_t> blueflame_offset; // where in the register the next request goes
    channel_owner channel;                      // does not block
    cq_owner send_cq;
    cq_owner receive_cq;
    srq_owner srq;
    ucs::owner<event_mailbox> mailbox;
    wake_timer timer;
    ucs::owner<ucs::event_loop> loop; // of the channel, the mailbox and the timer
    std::unique_ptr<std::array<std::byte, 64>> flush_bytes;
    mr_owner flush_mr; // what a peer's flush reads
    uint32_t srq_size; // receive buffers that fit for sure

    [[nodiscard]] static ucs::result<rc_resources> create(const md &domain,
                                                          const rc_config &config);

    [[nodiscard]] ibv_pd *pd_of_queues(const md &domain) const noexcept
    {
        return pd_with_register != nullptr ? pd_with_register.get() : domain.pd();
    }

    // Reads the channel until it is empty; calls count(cq) for each event.
    template <class F>
    void drain_channel(F &&count) noexcept
    {
        ibv_cq *cq = nullptr;
        void *context = nullptr;
        while (ibv_get_cq_event(channel.get(), &cq, &context) == 0) {
            count(cq);
            ibv_ack_cq_events(cq, 1);
        }
    }
};

} // namespace ufx::uct::ib

#endif
