// SPDX-License-Identifier: BSD-3-Clause
// The iface of an RC transport on one port. `Hw` says how queues are written and read:
//     Hw::kind, Hw::name
//     Hw::has_extended_atomics(device, wanted)
//     Hw::send_queue     of one ep: post(), positions, room (mlx5/send_queue.h)
//     Hw::shared_queues  of the iface: completions and receive buffers (mlx5/shared_queues.h)
#ifndef UFX_UCT_IB_COMMON_RC_IFACE_H
#define UFX_UCT_IB_COMMON_RC_IFACE_H

#include "atomic_request.h"
#include "qp_table.h"
#include "rc_ep.h"
#include "rc_resources.h"
#include "receive_buffers.h"

#include "uct/base/iface_base.h"

#include <vector>

namespace ufx::uct::ib {

inline constexpr size_t token_len = 8;
inline constexpr size_t max_user_header = 256;
inline constexpr uint64_t atomic32_caps =
    UFX_UCT_CAP_ATOMIC32_POST | UFX_UCT_CAP_ATOMIC32_FETCH | UFX_UCT_CAP_ATOMIC32_CSWAP;
inline constexpr uint64_t atomic64_caps =
    UFX_UCT_CAP_ATOMIC64_POST | UFX_UCT_CAP_ATOMIC64_FETCH | UFX_UCT_CAP_ATOMIC64_CSWAP;

template <class Hw>
class rc_iface : public iface_base<rc_iface<Hw>, rc_ep<Hw>> {
    using base = iface_base<rc_iface<Hw>, rc_ep<Hw>>;

public:
    using ep_type = rc_ep<Hw>;

    [[nodiscard]] static ucs::result<ucs::owner<rc_iface>>
    open(md &domain, const ufx_uct_iface_params_t &params);

    ~rc_iface();

    // ---- Slots of the ops table --------------------------------------------------------------
    ufx_status_t query(ufx_uct_iface_attr_t *attr) noexcept;
    ufx_status_t get_device_address(void *addr) noexcept;
    ufx_status_t get_address(void *addr) noexcept;
    int is_reachable(const void *device_addr, const void *iface_addr);
    ufx_status_t event_fd_get(int *fd) noexcept;
    ufx_status_t event_arm(unsigned events) noexcept;
    ufx_status_t flush(unsigned flags, ufx_uct_completion_t *comp);
    ufx_status_t fence() noexcept;
    void release_desc(void *data) noexcept;
    ufx_status_t query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                             size_t *rx_token_length, ufx_uct_token_grade_t *grade) noexcept;
    ufx_status_t set_link(int up) noexcept;

    // ---- For iface_base ----------------------------------------------------------------------
    unsigned poll() noexcept;

    [[nodiscard]] bool is_idle() const noexcept
    {
        return !resources_.mailbox->has_new() && !queues_.is_worth_a_poll();
    }

    [[nodiscard]] ucs::result<ucs::owner<ep_type>> create_ep(const ufx_uct_ep_params_t &params);

    // ---- For the eps -------------------------------------------------------------------------
    [[nodiscard]] const md &domain() const noexcept { return md_; }

    [[nodiscard]] const rc_config &config() const noexcept { return config_; }

    [[nodiscard]] const rc_resources &resources() const noexcept { return resources_; }

    [[nodiscard]] const rc_port &port() const noexcept { return port_; }

    // Throws bad_alloc.
    [[nodiscard]] bool reaches(const port_address &peer) { return port_.reaches(peer); }

    // A connection was made with that one of the port's choices.
    void adopt_gid(size_t choice) noexcept;

    // What the mailbox holds of queue pairs is about those that are there, and those that were:
    // before one is added that may have the number of an old one.
    void take_events_of_eps() noexcept;

    [[nodiscard]] bool link_up() const noexcept { return link_up_; }

    [[nodiscard]] qp_table<ep_type> &by_qpn() noexcept { return by_qpn_; }

    [[nodiscard]] atomic_level atomics() const noexcept { return atomics_; }

    // Completions that the send queue still has room for.
    [[nodiscard]] bool has_cq_room(uint32_t blocks) const noexcept
    {
        return cq_room_ >= static_cast<int64_t>(blocks);
    }

    void take_cq_room(uint32_t blocks) noexcept { cq_room_ -= blocks; }

    void give_cq_room(uint32_t blocks) noexcept { cq_room_ += blocks; }

    // The room is out, and idle eps may hold it: each tail gets a completion, once a poll.
    [[gnu::cold]] void signal_tails() noexcept;

    void count_sent(size_t payload) noexcept { this->tx_bytes_ += payload; }

    void count_received(size_t payload) noexcept { this->rx_bytes_ += payload; }

    // Longest put or get.
    [[nodiscard]] size_t max_zcopy() const noexcept;

    // Beside the largest header: a receive buffer takes both.
    [[nodiscard]] size_t max_am_zcopy() const noexcept
    {
        return config_.seg_size - std::min<size_t>(config_.seg_size, max_user_header);
    }


    // The ep is destroyed; what still comes for its queue pair belongs to nobody.
    void orphan(uint32_t qpn) noexcept
    {
        by_qpn_.remove(qpn);
        orphans_ = true;
        set_unusual();
    }

    // The queue pair is gone: so are its completions.
    void forget(uint32_t qpn) noexcept;

    // It waits to become quiet, or owes a grant: it gets a turn in each poll.
    void add_unsettled(ep_type &one) noexcept
    {
        unsettled_.push_back(one);
        set_unusual();
    }

private:
    friend struct ucs::owner_access;

    rc_iface(md &domain, const ufx_uct_iface_params_t &params, const rc_config &config,
             rc_port &&port, rc_resources &&resources, typename Hw::shared_queues &&queues);

    [[nodiscard]] ufx_status_t fill_receive_queue() noexcept;
    [[nodiscard]] static atomic_level atomics_of(const md &domain,
                                                 const rc_config &config) noexcept;
    void describe_atomics(ufx_uct_iface_attr_t &attr) const noexcept;

    void receive(uint32_t qpn, uint32_t slot, size_t length) noexcept;
    [[nodiscard]] bool take_control(uint32_t qpn, const am_header &header, size_t length) noexcept;
    [[gnu::cold]] void refuse(uint32_t qpn, uint32_t slot) noexcept;
    [[gnu::noinline]] void refill_slot(uint32_t slot) noexcept;
    // poll() has more to do than to look at the queues.
    void set_unusual() noexcept { this->attention_ |= base::for_transport; }
    [[nodiscard]] bool is_unusual() const noexcept
    {
        return (this->attention_ & base::for_transport) != 0;
    }
    [[gnu::cold]] unsigned begin_unusual() noexcept;
    [[gnu::cold]] void end_unusual(bool queues_empty) noexcept;
    [[gnu::cold]] unsigned take_events() noexcept;
    void take_event(const async_event &event) noexcept;
    [[nodiscard]] bool is_only_logged(ibv_event_type type) const noexcept;
    void take_port_event(ibv_event_type type) noexcept;
    void read_changed_port() noexcept;
    void read_port(const char *why) noexcept;
    void tell_address() noexcept;
    [[nodiscard]] bool has_news() const noexcept;
    void settle(bool queues_empty) noexcept;
    [[gnu::cold]] void warn_unknown(uint32_t qpn) noexcept;
    void fail_all(const failure &what, const char *text, uint64_t limit_ns) noexcept;
    void lose_device(const char *text) noexcept;

    md &md_;
    rc_config config_;
    rc_port port_;
    rc_resources resources_;
    typename Hw::shared_queues queues_;
    receive_buffers buffers_;
    std::vector<receive_buffer *> slots_; // of the receive queue; nullptr: waits for a buffer
    std::vector<uint32_t> starved_;       // slots without a buffer
    qp_table<ep_type> by_qpn_;
    ucs::list<ep_type> unsettled_;
    int64_t cq_room_;
    atomic_level atomics_;
    // What set_unusual() is for:
    bool tails_signaled_ = false; // since the last poll
    bool orphans_ = false;  // an ep was destroyed in this round of progress
    bool link_up_ = true;   // false: cut by set_link
    bool link_told_ = true; // what the event callback knows
    refreshed address_ = refreshed::unchanged; // since the event callback was told
    const char *port_news_ = nullptr;          // the event since which the port was not read
    std::vector<async_event> later_;           // events of the mailbox that wait for progress
};

} // namespace ufx::uct::ib

#endif
