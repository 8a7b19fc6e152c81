// SPDX-License-Identifier: BSD-3-Clause
// The tcp transport opened on one device: a listener, the eps, and what they share.
#ifndef UFX_UCT_TCP_IFACE_H
#define UFX_UCT_TCP_IFACE_H

#include "batch.h"
#include "config.h"
#include "device.h"
#include "ep.h"
#include "lobby.h"
#include "md.h"
#include "port_watch.h"
#include "reply_queue.h"
#include "rx_desc.h"
#include "socket.h"

#include "ucs/handle_table.h"
#include "ucs/list.h"
#include "uct/base/iface_base.h"

#include <memory>

namespace ufx::uct::tcp {

class iface : public iface_base<iface, ep> {
    using base = iface_base<iface, ep>;

public:
    static constexpr size_t max_am_header = 256;

    [[nodiscard]] static ucs::result<ucs::owner<iface>> open(md &memory,
                                                             const ufx_uct_iface_params_t &params);

    // ---- Slots of the ops table --------------------------------------------------------------
    ufx_status_t query(ufx_uct_iface_attr_t *attr) noexcept;
    ufx_status_t get_device_address(void *addr) noexcept;
    ufx_status_t get_address(void *addr) noexcept;
    int is_reachable(const void *device_addr, const void *iface_addr) noexcept;
    ufx_status_t event_fd_get(int *fd) noexcept;
    ufx_status_t event_arm(unsigned events) noexcept;
    ufx_status_t fence() noexcept;
    void release_desc(void *data) noexcept;
    ufx_status_t query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                             size_t *rx_token_length, ufx_uct_token_grade_t *grade) noexcept;
    ufx_status_t set_link(int up);

    // ---- For iface_base ----------------------------------------------------------------------
    unsigned poll() noexcept;
    [[nodiscard]] ucs::result<ucs::owner<ep>> create_ep(const ufx_uct_ep_params_t &params);

    // ---- For the eps, the lobby and the port watch -------------------------------------------
    [[nodiscard]] const config &settings() const noexcept { return settings_; }

    [[nodiscard]] const device &local() const noexcept { return device_; }

    [[nodiscard]] bool link_up() const noexcept { return link_up_; }

    // To be looked into in a section of regions_here().
    [[nodiscard]] const region_table &regions() const noexcept { return md_.regions(); }

    [[nodiscard]] region_reader &regions_here() noexcept { return regions_here_; }

    [[nodiscard]] rx_desc_pool &descs() noexcept { return descs_; }

    [[nodiscard]] reply_queue::pool &reply_pool() noexcept { return replies_; }

    [[nodiscard]] batch &tx_batch() noexcept { return *batch_; }

    [[nodiscard]] size_t receive_buffer_size() const noexcept;

    void count_sent(size_t payload) noexcept { tx_bytes_ += payload; }

    void count_received(size_t payload) noexcept { rx_bytes_ += payload; }

    // Gives an ep its id; throws bad_alloc.
    [[nodiscard]] uint64_t add(ep &made);
    void forget(uint64_t id) noexcept;

    [[nodiscard]] ep *find(uint64_t id) const noexcept { return eps_by_id_.find(id); }

    // The ep gets a turn in the next poll.
    void activate(ep &one) noexcept
    {
        if (!static_cast<ucs::list_node<active_tag> &>(one).linked()) {
            active_.push_back(one);
        }
    }

    void add_connecting(ep &one) noexcept { connecting_.push_back(one); }

    void admit_waiting(ep &one) noexcept { lobby_.look_for(one); }

    // Puts a socket into the epoll set. False with errno.
    [[nodiscard]] bool watch(const ucs::fd &socket, uint64_t ep_id) noexcept;
    [[nodiscard]] bool watch_guest(const ucs::fd &socket, size_t place) noexcept;
    void unwatch(const ucs::fd &socket) noexcept;

    // What the kernel says about the device.
    void on_port_change(ufx_uct_iface_event_type_t type, ufx_uct_error_cause_t cause,
                        const char *text) noexcept;
    // Goes on with another address of the interface. False: it cannot listen there.
    [[nodiscard]] bool move_to(const ip_address &ip);

private:
    friend struct ucs::owner_access;

    struct parts {
        device local;
        config settings;
        listener listening;
        ucs::fd epoll;
        ucs::fd timer;
    };

    iface(md &memory, const ufx_uct_iface_params_t &params, parts &&made);

    static constexpr uint64_t tag_listener = 1;
    static constexpr uint64_t tag_timer = 2;
    static constexpr uint64_t tag_port = 3;

    [[nodiscard]] bool add_to_epoll(const ucs::fd &what, uint32_t events, uint64_t tag) noexcept;
    unsigned poll_events() noexcept;
    void dispatch(uint64_t tag, uint32_t events) noexcept;
    void accept_some() noexcept;
    void expire() noexcept;
    void set_timer() noexcept;

    // True if there is something for tell_link() to tell.
    [[nodiscard]] bool link_news() const noexcept
    {
        return link_up_ != link_told_ || listener_.port != port_told_;
    }

    unsigned tell_link() noexcept;
    void fail_all(socket_failure failure, const char *text) noexcept;

    md &md_;
    device device_;
    config settings_;
    rx_desc_pool descs_;
    region_reader regions_here_;
    reply_queue::pool replies_{"tcp replies"};
    std::unique_ptr<batch> batch_;
    ucs::handle_table<ep> eps_by_id_;
    ucs::fd epoll_;
    ucs::fd timer_; // wakes a sleeping user for a deadline
    listener listener_;
    ucs::acceptor acceptor_;
    uint16_t port_told_; // listener_.port, as far as the event callback knows
    lobby lobby_;
    std::unique_ptr<port_watch> port_;
    ucs::list<ep, active_tag> active_;
    ucs::list<ep, connecting_tag> connecting_;
    unsigned polls_ = 0;
    bool armed_ = false;
    bool link_up_ = true;   // false: cut by set_link
    bool link_told_ = true; // what the event callback knows
};

} // namespace ufx::uct::tcp

#endif
