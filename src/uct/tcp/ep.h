// SPDX-License-Identifier: BSD-3-Clause
// One tcp connection of an iface.
#ifndef UFX_UCT_TCP_EP_H
#define UFX_UCT_TCP_EP_H

#include "receiver.h"
#include "reply_queue.h"
#include "socket.h"
#include "tx_stream.h"
#include "wire.h"

#include "ucs/fd.h"
#include "ucs/list.h"
#include "uct/base/failover_ep.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace ufx::uct::tcp {

class iface;
struct active_tag;
struct connecting_tag;

// How the connection is made, while the ep is INIT:
//
//   idle --connect_to_ep--> connecting --TCP is up--> greeting --welcome--> open
//                    \----> waiting ------a hello that names this ep------> open
//
// The side with the smaller (nonce, id) connects. open ends as closed; so does any other phase
// that fails.
enum class phase { idle, connecting, greeting, waiting, open, closed };

class ep : public failover_ep<ep, iface>,
           public ucs::list_node<active_tag>,
           public ucs::list_node<connecting_tag> {
    using base = failover_ep<ep, class iface>;

public:
    ep(class iface &owner, const ufx_uct_ep_params_t &params);
    ~ep();

    // ---- Slots of the ops table (ep_post.cpp, ep_control.cpp) --------------------------------
    method_of<&ep_ops::am_short> am_short;
    method_of<&ep_ops::am_bcopy> am_bcopy;
    method_of<&ep_ops::am_zcopy> am_zcopy;
    method_of<&ep_ops::put_short> put_short;
    method_of<&ep_ops::put_bcopy> put_bcopy;
    method_of<&ep_ops::put_zcopy> put_zcopy;
    method_of<&ep_ops::get_short> get_short;
    method_of<&ep_ops::get_bcopy> get_bcopy;
    method_of<&ep_ops::get_zcopy> get_zcopy;
    method_of<&ep_ops::atomic32_post> atomic32_post;
    method_of<&ep_ops::atomic64_post> atomic64_post;
    method_of<&ep_ops::atomic32_fetch> atomic32_fetch;
    method_of<&ep_ops::atomic64_fetch> atomic64_fetch;
    method_of<&ep_ops::atomic32_cswap> atomic32_cswap;
    method_of<&ep_ops::atomic64_cswap> atomic64_cswap;
    method_of<&ep_ops::check> check;
    method_of<&ep_ops::fence> fence;
    method_of<&ep_ops::get_address> get_address;
    ufx_status_t connect_to_ep(const void *device_addr, const void *iface_addr,
                               const void *ep_addr);
    ufx_status_t query(ufx_uct_ep_attr_t *attr);

    // ---- For ep_base -------------------------------------------------------------------------
    void quiesce() noexcept;
    [[nodiscard]] bool can_post() noexcept;
    ufx_status_t make_quiet(ufx_uct_completion_t *quiet) noexcept;
    [[nodiscard]] ucs::result<wire::rx_position> parse_token(const void *token,
                                                             size_t length) noexcept;
    [[nodiscard]] extent judge(const op_record &record, uint64_t index,
                               const wire::rx_position &position, size_t &partial) noexcept;

    // ---- For the iface -----------------------------------------------------------------------
    [[nodiscard]] const wire::conn_id &own_id() const noexcept { return own_; }

    [[nodiscard]] const wire::conn_id &peer_id() const noexcept { return peer_; }

    [[nodiscard]] enum phase phase() const noexcept { return phase_; }

    [[nodiscard]] uint64_t deadline_ns() const noexcept { return deadline_ns_; }

    // When to try again to connect.
    [[nodiscard]] uint64_t retry_ns() const noexcept { return retry_ns_; }

    // One bounded round: read, handle, send. @return how much happened
    unsigned turn() noexcept;

    // True if turn() would do something without a new event.
    [[nodiscard]] bool busy() noexcept;

    // Sends what is due before the iface sleeps. False if there is more to do than that.
    [[nodiscard]] bool settle() noexcept;

    void on_event(uint32_t epoll_events) noexcept;

    // The connection of this ep, whose hello was checked and answered.
    void adopt(ucs::fd socket) noexcept;

    // Both are for progress or for set_link: the error handler runs from progress.
    // `guilty`: the index in the queue of the own op that it is about.
    void break_with(socket_failure failure, int error, const char *text,
                    std::optional<uint64_t> guilty = {}) noexcept;
    // The memory of an own op cannot be accessed.
    void local_fault(uint64_t guilty, const char *text) noexcept;
    void time_out() noexcept;

    // Gives up the attempt to connect that is under way, if there is one, and starts another.
    void dial() noexcept;

    // ---- For the receiver --------------------------------------------------------------------
    [[nodiscard]] tx_stream &stream() noexcept { return stream_; }

    [[nodiscard]] reply_queue &replies() noexcept { return replies_; }

    [[nodiscard]] const receiver &incoming() const noexcept { return receiver_; }

    [[nodiscard]] bool on_ack(uint32_t low) noexcept;
    [[nodiscard]] bool on_refusal(uint32_t seq) noexcept;
    void on_answer(op_record &record) noexcept;
    void send_refusal(uint32_t seq) noexcept;

private:
    enum class source { none, ops, replies, ack };

    template <class Record>
    [[nodiscard]] ufx_status_t posted(Record *record) noexcept;
    [[nodiscard]] ufx_status_t post_atomic(ufx_uct_atomic_op_t op, unsigned size, uint64_t operand,
                                           uint64_t compare, void *result, uint64_t remote_addr,
                                           ufx_uct_rkey_t rkey,
                                           ufx_uct_completion_t *comp) noexcept;

    void complete_ended() noexcept;

    // Connecting (ep_connect.cpp).
    void continue_connecting() noexcept;
    void read_welcome() noexcept;
    void open() noexcept;
    void close_socket() noexcept;

    // Moving bytes (ep_io.cpp).
    unsigned receive() noexcept;
    bool read_once() noexcept;
    void lost(int error) noexcept;
    unsigned send_some(size_t budget, bool lone_ack) noexcept;
    [[nodiscard]] source next_source(bool lone_ack) noexcept;
    [[nodiscard]] bool ack_owed() const noexcept;
    [[nodiscard]] size_t gather(source from, batch &out, uint64_t ack) noexcept;
    void sent(source from, size_t bytes) noexcept;
    void send_failed(source from, int error) noexcept;
    void unreadable(source from) noexcept;

    reply_queue replies_;
    receiver receiver_;
    tx_stream stream_{queue_};
    wire::conn_id own_;
    wire::conn_id peer_;
    ip_address peer_ip_;
    uint16_t peer_port_ = 0;
    ucs::fd socket_;
    enum phase phase_ = phase::idle;
    bool readable_ = false;
    bool writable_ = false;
    bool hung_up_ = false; // an end of stream or error waits behind what is readable
    bool replies_last_ = false;
    bool one_by_one_ = false;               // frames are sent so, to find the one that faults
    bool ack_waited_ = false;               // an ack was owed at the end of the last turn already
    int send_error_ = 0;                    // sending is over; what is readable comes first
    unsigned hot_ = 0;                      // turns in which to read without being told
    uint64_t ack_sent_ = 0;                 // ops whose application was acknowledged
    uint64_t deadline_ns_ = 0;              // while connecting or waiting
    uint64_t retry_ns_ = UINT64_MAX;        // while connecting
    uint64_t retry_delay_ns_ = 0;           // of the last attempt
    size_t ack_offset_ = 0;                 // bytes sent of a lone ack
    size_t hello_size_ = 0;                 // bytes received of the welcome
    ufx_uct_completion_t *quiet_ = nullptr; // invalidate() waits for the current frame's handler

    std::array<std::byte, wire::header_size> ack_frame_{};
    std::array<std::byte, wire::hello_size> hello_{};
    connection_info last_info_; // of a socket that is closed
    std::string name_;
};

} // namespace ufx::uct::tcp

#endif
