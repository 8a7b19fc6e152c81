// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous: RTS names data at the sender, the receiver gets it over all rails and answers ATS.
//
// Sender: RTS (an AM) -> ATS: done. A cancel sends REVOKE until REVOKE_ACK: from then on the
// receiver does not read the buffer. Receiver: RTS delivered -> kept -> FETCHING (gets) -> ATS. The
// sender's buffer and its key stay valid until the sender's request is complete.
#include "ucp/context.h"
#include "ucp/ep.h"
#include "ucp/mem_table.h"
#include "ucp/peer.h"
#include "ucp/post.h"
#include "ucp/proto.h"
#include "ucp/refuse.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"
#include "ucs/entry.h"
#include "ucs/log.h"

#include <algorithm>
#include <array>

namespace ufx::ucp {

namespace {

// REVOKEs whose RTS has not come; more than that many at once is not remembered.
constexpr std::size_t max_revoked = 4096;

bool body_of(const recv_message &rts, rts_body &body)
{
    return rts.type == am_type::RTS && decode(rts.body(), body);
}

} // namespace

ufx_status_t make_rts(ep &e, request &r, const void *buffer, std::size_t length)
{
    auto *from = static_cast<std::byte *>(const_cast<void *>(buffer));
    mem_table &memory = e.home().ctx().memory;
    if (r.memory == nullptr || !r.memory->holds(from, length)) {
        ufx_ucp_mem_params_t params{};
        params.field_mask =
            UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
        params.address = from;
        params.length = length;
        params.flags = UFX_UCP_MEM_REMOTE_READ;
        ucs::result<mem *> made = memory.map(params);
        if (!made) {
            return made.error() == UFX_ERR_INVALID_PARAM ? UFX_ERR_LOCAL_PROT : made.error();
        }
        r.memory = made.value();
        r.add_own(*r.memory);
    }
    const std::vector<std::byte> key = memory.pack(*r.memory);
    rts_body body;
    body.request = r.id;
    body.address = reinterpret_cast<std::uintptr_t>(from);
    body.length = length;
    body.rkey = key;
    const std::size_t at = r.head.size();
    r.head.resize(at + rts_fixed_size + key.size());
    encode(body, r.head.data() + at);
    r.type = am_type::RTS;
    r.answers = 1;
    return UFX_OK;
}

void send_revoke(ep &e, request &r)
{
    if (r.revoking) {
        return;
    }
    r.revoking = true;
    core::revoke_msg msg;
    msg.src_ep = e.id();
    msg.dst_ep = e.failover()->peer_id();
    msg.rendezvous = r.id;
    e.remote().send_until_answered({peer::question::about::REVOKE, r.id}, msg);
}

void on_revoke(peer &from, const core::revoke_msg &msg)
{
    ep *e = from.find_ep(msg.dst_ep);
    if (e != nullptr && !e->rx.revoke(msg.rendezvous)) {
        return; // still being read; the sender asks again
    }
    core::revoke_ack_msg ack;
    ack.src_ep = msg.dst_ep;
    ack.dst_ep = msg.src_ep;
    ack.rendezvous = msg.rendezvous;
    from.send(ack);
}

void on_revoke_ack(peer &from, const core::revoke_ack_msg &msg)
{
    request *r = from.home().requests.find(msg.rendezvous);
    if (r == nullptr || r->completed || !r->revoking || from.find_ep(msg.dst_ep) != r->target) {
        return;
    }
    from.answered({peer::question::about::REVOKE, r->id});
    r->target->tx.answered(*r, UFX_ERR_CANCELED);
}

void send_ats(ep &e, const recv_message &rts, ufx_status_t status)
{
    rts_body body;
    if (!body_of(rts, body)) {
        return;
    }
    e.or_fail([&] {
        request_pool::draft answer = start_internal(e, am_type::ATS, ats_size);
        if (answer != nullptr) {
            encode(ats_body{body.request, status}, answer->head.data());
            e.tx.submit(*answer.release());
        }
    });
}

void ep_rx::deliver_ats(recv_message &message)
{
    ats_body body;
    if (!decode(message.body(), body)) {
        return;
    }
    request *r = ep_.home().requests.find(body.request);
    if (r == nullptr || r->completed || r->target != &ep_ || r->type != am_type::RTS) {
        return;
    }
    auto status = static_cast<ufx_status_t>(body.status);
    if (status == UFX_ERR_REMOTE_ACCESS) { // what is remote there is local here
        status = UFX_ERR_LOCAL_PROT;
    } else if (status == UFX_ERR_LOCAL_PROT) {
        status = UFX_ERR_REMOTE_ACCESS;
    }
    ep_.tx.answered(*r,
                    status == UFX_OK || status <= UFX_ERR_CANCELED ? status : UFX_ERR_UNREACHABLE);
}

void ep_rx::deliver_rts(recv_message &message)
{
    rts_body body;
    if (!body_of(message, body)) {
        ufx_warn("%s: a rendezvous request does not parse", ep_.name().c_str());
        drop(message);
        return;
    }
    const am_handlers::am_handler handler = message.id < UFX_UCP_AM_ID_MAX
                                                ? ep_.home().handlers.am(message.id)
                                                : am_handlers::am_handler{};
    const bool is_revoked = take_revoked(body.request);
    if (is_revoked || handler.cb == nullptr) {
        send_ats(ep_, message, is_revoked ? UFX_ERR_CANCELED : UFX_OK); // it may overtake the ack
        drop(message);
        return;
    }
    rendezvous_.push_back(message);
    ufx_ucp_am_t am{};
    am.ep = &ep_;
    am.id = message.id;
    am.header = message.user_header != 0 ? message.user_header_at() : nullptr;
    am.header_length = message.user_header;
    am.data = message.data();
    am.length = static_cast<std::size_t>(body.length);
    am.flags = UFX_UCP_AM_RNDV | UFX_UCP_AM_KEEP;
    message.at = recv_message::stage::IN_HANDLER;
    const ufx_status_t status = handler.cb(handler.arg, &am);
    if (message.at == recv_message::stage::FETCHING) {
        return;
    }
    if (message.at == recv_message::stage::RELEASED) {
        drop(message);
        return;
    }
    if (status == UFX_INPROGRESS) {
        message.at = recv_message::stage::KEPT;
        ep_.home().handlers.keep(message);
        return;
    }
    send_ats(ep_, message, UFX_OK);
    drop(message);
}

// True: the buffer is not read and will not be.
bool ep_rx::revoke(std::uint64_t rendezvous)
{
    for (recv_message &message : rendezvous_) {
        rts_body body;
        if (!body_of(message, body) || body.request != rendezvous) {
            continue;
        }
        message.revoked = true;
        if (message.fetch == nullptr) {
            return true;
        }
        if (!message.fetch->completed) {
            ep_.tx.cancel(*message.fetch);
        }
        return message.fetch->completed;
    }
    if (std::find(revoked_.begin(), revoked_.end(), rendezvous) == revoked_.end()) {
        revoked_.push_back(rendezvous);
        if (revoked_.size() > max_revoked) {
            revoked_.pop_front();
        }
    }
    return true;
}

bool ep_rx::take_revoked(std::uint64_t rendezvous)
{
    return std::erase(revoked_, rendezvous) != 0;
}

namespace {

// The gets have ended: tell the sender, give the message back.
void after_fetch(request &r)
{
    recv_message &rts = *r.message;
    if (ep *e = r.home.find_ep(rts.ep); e != nullptr) {
        send_ats(*e, rts, r.state.status());
    }
    r.message = nullptr;
    r.home.handlers.give_back(rts);
}

ufx_status_t fetch(worker &w, recv_message &rts, void *buffer, std::size_t length,
                   const ufx_ucp_op_params_t *params, ufx_ucp_request_h *out)
{
    rts_body body;
    constexpr const char *call = "ufx_ucp_am_recv_data";
    if (!body_of(rts, body)) {
        return refuse(call, "data is not of a rendezvous message");
    }
    if (rts.fetch != nullptr) {
        return refuse(call, "data was fetched before");
    }
    if (length > body.length) {
        return refuse(call, "length is above that of the message");
    }
    if (buffer == nullptr && length != 0) {
        return refuse_null(call, "buffer");
    }
    ep *e = w.find_ep(rts.ep);
    if (e == nullptr || e->failover() == nullptr || e->has_said_goodbye()) {
        return UFX_ERR_SHUTDOWN;
    }
    ucs::result<ucs::owner<rkey>> key = rkey::unpack(body.rkey);
    if (!key || !key.value()->holds(body.address, static_cast<std::size_t>(body.length))) {
        return UFX_ERR_BAD_MESSAGE;
    }
    request_pool::draft made = w.requests.start(w, e, params, op::RECV);
    made->internal = true;
    made->own_key = std::move(key).value();
    e->tx.keys.push_back(*made->own_key);
    made->pieces.push_back({static_cast<std::byte *>(buffer), body.address, length,
                            made->own_key.get(), made->memory});
    if (length != 0) {
        if (const ufx_status_t status = shape_rma(*e, *made); status != UFX_OK) {
            return status;
        }
    }
    made->message = &rts;
    made->then = after_fetch;
    request *r = made.release();
    rts.fetch = r;
    rts.at = recv_message::stage::FETCHING;
    if (out != nullptr) {
        *out = r->handle();
    }
    if (length == 0 || rts.revoked) {
        r->finish(rts.revoked ? UFX_ERR_CANCELED : UFX_OK);
        return UFX_INPROGRESS;
    }
    e->tx.submit(*r);
    return UFX_INPROGRESS;
}

} // namespace
} // namespace ufx::ucp

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

extern "C" ufx_status_t ufx_ucp_am_recv_data(ufx_ucp_worker_h worker, void *data, void *buffer,
                                             size_t length, const ufx_ucp_op_params_t *params,
                                             ufx_ucp_request_h *request) noexcept
{
    ucp::give_no_request(request);
    if (worker == nullptr || data == nullptr) {
        return ucp::refuse_null(__func__, worker == nullptr ? "worker" : "data");
    }
    ucp::worker &w = ucp::worker::of(worker);
    auto guard = w.lock();
    return ucs::guard([&]() -> ufx_status_t {
        ucp::recv_message *message = ucp::recv_message::of(data);
        if (message == nullptr) {
            return ucp::refuse("ufx_ucp_am_recv_data", "data is not of a message");
        }
        const ufx_status_t status = ucp::fetch(w, *message, buffer, length, params, request);
        w.kick();
        return status;
    });
}

extern "C" void ufx_ucp_am_data_release(ufx_ucp_worker_h worker, void *data) noexcept
{
    if (worker == nullptr) {
        (void)ucp::refuse_null(__func__, "worker");
        return;
    }
    ucp::worker &w = ucp::worker::of(worker);
    auto guard = w.lock();
    (void)ucs::guard([&] {
        ucp::recv_message *message = data != nullptr ? ucp::recv_message::of(data) : nullptr;
        if (message == nullptr || message->fetch != nullptr) {
            return;
        }
        ucp::ep *e = w.find_ep(message->ep);
        if (message->type == ucp::am_type::RTS && e != nullptr) {
            ucp::send_ats(*e, *message, UFX_OK);
        }
        // In its handler: who runs that gives it back.
        if (message->at == ucp::recv_message::stage::IN_HANDLER) {
            message->at = ucp::recv_message::stage::RELEASED;
        } else {
            w.handlers.give_back(*message);
        }
        w.kick();
    });
}
