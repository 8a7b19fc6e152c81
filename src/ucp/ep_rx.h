// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of an ep: frames into messages, messages to handlers in the order they were
// sent.
//
// Arrival (the core's window) and delivery are apart: a frame is kept as soon as the window takes
// it, also while its lane is being sealed; handlers run only from progress(), in order of numbers.
#ifndef UFX_UCP_EP_RX_H
#define UFX_UCP_EP_RX_H

#include "ucp/am_wire.h"
#include "ucp/recv_message.h"
#include "ucs/list.h"

#include <ufx/status.h>

#include <deque>
#include <span>

namespace ufx::ucp {

class ep;
class rail;

class ep_rx {
public:
    explicit ep_rx(ep &owner) : ep_(owner) {}
    ~ep_rx();
    ep_rx(const ep_rx &) = delete;
    ep_rx &operator=(const ep_rx &) = delete;

    // A data frame of uct that came in by that local port; finds its ep, runs no handler.
    static ufx_status_t on_am(rail &port, void *data, std::size_t length, unsigned flags);
    // Delivers what is whole and next in order; acks what no frame of ours has acked.
    unsigned progress();
    // The ep is dead: what was not delivered is dropped; what the user keeps stays his.
    void close();
    // Nothing waits for a handler.
    bool idle() { return messages_.empty(); }

    // Rendezvous, proto_rndv.cpp.
    // True: the sender's buffer is not read and will not be.
    bool revoke(std::uint64_t rendezvous);

private:
    void on_frame(const am_header &header, std::span<const std::byte> payload);
    recv_message *find(core::am_number first);
    recv_message *insert(const am_header &header);
    void deliver(recv_message &message);
    void deliver_user(recv_message &message);
    void deliver_notify(recv_message &message);
    // proto_rndv.cpp, proto_atomic.cpp
    void deliver_rts(recv_message &message);
    void deliver_ats(recv_message &message);
    void deliver_atomic_request(recv_message &message);
    void deliver_atomic_reply(recv_message &message);
    void drop(recv_message &message);
    bool take_revoked(std::uint64_t rendezvous);
    void ack();

    ep &ep_;
    core::am_number deliver_next_ = 0;
    ucs::list<recv_message> messages_; // by number
    ucs::list<recv_message, rendezvous_tag> rendezvous_;
    std::deque<std::uint64_t> revoked_; // whose RTS has not come
};

} // namespace ufx::ucp

#endif
