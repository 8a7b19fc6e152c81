// SPDX-License-Identifier: BSD-3-Clause
// Arrival of frames, reassembly, and delivery in order.
#include "ucp/ep_rx.h"

#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "ucs/bytes.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"

#include <new>

namespace ufx::ucp {

ep_rx::~ep_rx()
{
    close();
}

ufx_status_t ep_rx::on_am(rail &port, void *data, std::size_t length, unsigned)
{
    am_header header;
    std::span<const std::byte> payload;
    if (!decode({static_cast<const std::byte *>(data), length}, header, payload)) {
        ufx_warn("%s: a data frame of %zu bytes does not parse and is dropped", port.name().c_str(),
                 length);
        return UFX_OK;
    }
    ep *target = port.home().find_ep(header.dst_ep);
    if (target == nullptr || target->failover() == nullptr) {
        ufx_debug("%s: a frame for an ep that is gone", port.name().c_str());
        return UFX_OK;
    }
    const lane *over = target->find_lane(header.rail, header.epoch);
    if (over == nullptr || &over->port() != &port) {
        ufx_debug("%s: a frame of a lane that is gone", port.name().c_str());
        return UFX_OK;
    }
    port.count.rx_bytes += payload.size();
    // The lane counts the frame as delivered, so it may not just be dropped.
    target->or_fail([&] { target->rx.on_frame(header, payload); });
    return UFX_OK;
}

void ep_rx::on_frame(const am_header &header, std::span<const std::byte> payload)
{
    core::ep &machine = *ep_.failover();
    if (header.ack > machine.tx().next_number()) {
        ufx_warn("%s: the peer acks messages that were never sent", ep_.name().c_str());
        return;
    }
    machine.am_acked(header.ack, ep_.remote().actions());
    ep_.tx.wake();
    if (header.type == am_type::ACK) {
        return;
    }
    recv_message *message = find(header.number - header.index);
    if (message != nullptr && !message->agrees(header)) {
        ufx_warn("%s: the fragments of a message contradict each other", ep_.name().c_str());
        return;
    }
    const auto bytes = static_cast<std::uint32_t>(payload.size());
    const bool fresh = machine.rx().window().look(header.number) == core::window::arrival::FRESH;
    if (message == nullptr && fresh) {
        message = insert(header);
        if (message == nullptr) {
            return; // a lie about numbers: as if it had been lost
        }
    }
    switch (machine.rx().arrived(header.rail, header.epoch, header.number, bytes)) {
    case core::am_rx::verdict::KEEP:
        break;
    case core::am_rx::verdict::REFUSED:
        if (message->arrived == 0) {
            drop(*message);
        }
        return;
    case core::am_rx::verdict::DUPLICATE:
        return;
    case core::am_rx::verdict::BAD:
        ufx_warn("%s: a message number beyond the window", ep_.name().c_str());
        return;
    }
    ++message->arrived;
    message->held += bytes;
    if (header.type == am_type::SKIP) {
        message->skipped = true;
    } else if (!message->skipped) {
        message->store(header, payload);
    }
    ucs::trace_point("am_held");
}

recv_message *ep_rx::find(core::am_number first)
{
    for (auto at = messages_.end(); at != messages_.begin();) {
        --at;
        if (at->first == first) {
            return &*at;
        }
        if (at->first < first) {
            break;
        }
    }
    return nullptr;
}

// Messages are runs of numbers that do not overlap; a peer that says otherwise is not believed.
// Throws bad_alloc.
recv_message *ep_rx::insert(const am_header &header)
{
    const core::am_number first = header.number - header.index;
    if (first < deliver_next_) {
        return nullptr;
    }
    recv_message *behind = nullptr;
    for (auto at = messages_.end(); at != messages_.begin();) {
        --at;
        if (at->first < first) {
            if (at->first + at->count > first) {
                return nullptr;
            }
            break;
        }
        behind = &*at;
    }
    if (behind != nullptr && first + header.count > behind->first) {
        return nullptr;
    }
    recv_message *message = ep_.home().handlers.take(header);
    if (message == nullptr) {
        throw std::bad_alloc();
    }
    message->ep = ep_.id();
    message->skipped = header.type == am_type::SKIP;
    if (behind != nullptr) {
        messages_.insert_before(*behind, *message);
    } else {
        messages_.push_back(*message);
    }
    return message;
}

unsigned ep_rx::progress()
{
    unsigned delivered = 0;
    while (!messages_.empty() && ep_.failover() != nullptr) {
        recv_message &message = messages_.front();
        const core::am_number end = message.first + message.count;
        if (message.first != deliver_next_ || !ep_.failover()->rx().arrived_below(end)) {
            break;
        }
        deliver_next_ = end;
        messages_.erase(message);
        ep_.failover()->rx().handled(message.held);
        try {
            deliver(message);
        } catch (...) { // no handler of the user throws: the message is still ours
            drop(message);
            throw;
        }
        ++delivered;
    }
    ack();
    return delivered;
}

void ep_rx::ack()
{
    const core::ep *machine = ep_.failover();
    if (machine == nullptr || machine->rx().unacked() == 0) {
        return;
    }
    ep_.tx.send_ack();
}

void ep_rx::deliver(recv_message &message)
{
    if (message.skipped) {
        drop(message);
        return;
    }
    if (!message.is_whole()) {
        ufx_warn("%s: all fragments of a message came, but not all of its bytes",
                 ep_.name().c_str());
        drop(message);
        return;
    }
    switch (message.type) {
    case am_type::USER:
        deliver_user(message);
        return;
    case am_type::RTS:
        deliver_rts(message);
        return;
    case am_type::ATS:
        deliver_ats(message);
        break;
    case am_type::ATOMIC_REQ:
        deliver_atomic_request(message);
        break;
    case am_type::ATOMIC_REP:
        deliver_atomic_reply(message);
        break;
    case am_type::NOTIFY:
        deliver_notify(message);
        break;
    case am_type::ACK:
    case am_type::SKIP:
    case am_type::COUNT:
        break;
    }
    drop(message);
}

void ep_rx::deliver_user(recv_message &message)
{
    am_handlers &handlers = ep_.home().handlers;
    if (message.id >= UFX_UCP_AM_ID_MAX || handlers.am(message.id).cb == nullptr) {
        ufx_debug("%s: no handler for message id %u", ep_.name().c_str(), message.id);
        drop(message);
        return;
    }
    const am_handlers::am_handler handler = handlers.am(message.id);
    ufx_ucp_am_t am{};
    am.ep = &ep_;
    am.id = message.id;
    am.header = message.user_header != 0 ? message.user_header_at() : nullptr;
    am.header_length = message.user_header;
    am.data = message.data();
    am.length = message.length();
    am.flags = UFX_UCP_AM_KEEP;
    message.at = recv_message::stage::IN_HANDLER;
    if (handler.cb(handler.arg, &am) == UFX_INPROGRESS &&
        message.at != recv_message::stage::RELEASED) {
        message.at = recv_message::stage::KEPT;
        ep_.home().handlers.keep(message);
        return;
    }
    drop(message);
}

void ep_rx::deliver_notify(recv_message &message)
{
    ucs::byte_reader in(message.body());
    const std::uint64_t tag = in.le64();
    const std::span<const std::byte> data = in.rest();
    const am_handlers::notify_handler handler = ep_.home().handlers.notify();
    if (!in.ok() || handler.cb == nullptr) {
        return;
    }
    handler.cb(handler.arg, &ep_, tag, data.empty() ? nullptr : data.data(), data.size());
}

void ep_rx::drop(recv_message &message)
{
    ep_.home().handlers.give_back(message);
}

void ep_rx::close()
{
    while (recv_message *message = messages_.pop_front()) {
        drop(*message);
    }
    // What the user keeps is found again by its data pointer, and then its ep is not.
    rendezvous_.clear();
    revoked_.clear();
}

} // namespace ufx::ucp
