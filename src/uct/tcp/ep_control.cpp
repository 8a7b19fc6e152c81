// SPDX-License-Identifier: BSD-3-Clause
// Everything of an ep but posting, connecting and moving bytes: queries, failure, tokens.
#include "iface.h"

#include "ucs/log.h"
#include "ucs/uuid.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ufx::uct::tcp {

namespace {

// Also a single bcopy may use no more than half of the queue's byte ring.
size_t ring_bytes(const config &with) noexcept
{
    return std::max(with.tx_buffer, 4 * with.seg_size);
}

} // namespace

ep::ep(class iface &owner, const ufx_uct_ep_params_t &params)
    : base(owner, params, owner.settings().tx_queue, ring_bytes(owner.settings())),
      replies_(owner.reply_pool(), owner.regions_here()),
      receiver_(*this, owner.receive_buffer_size())
{
    own_ = {owner.add(*this), ucs::random_uuid()};
}

ep::~ep()
{
    iface().forget(own_.id);
}

ufx_status_t ep::fence() noexcept
{
    return is_failed() ? failed_status() : UFX_OK; // a connection applies in order anyway
}

ufx_status_t ep::get_address(void *ep_addr) noexcept
{
    wire::encode(own_, static_cast<std::byte *>(ep_addr));
    return UFX_OK;
}

ufx_status_t ep::query(ufx_uct_ep_attr_t *attr)
{
    ufx_status_t status = base::query(attr);
    if ((attr->field_mask & UFX_UCT_EP_ATTR_TX_TOKEN) != 0) {
        wire::encode(own_, reinterpret_cast<std::byte *>(attr->tx_token));
        attr->tx_token_len = wire::token_size;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_PROGRESS) != 0) {
        connection_info info = socket_ ? query_connection(socket_) : last_info_;
        attr->acked_bytes = info.acked_bytes;
        attr->network_unacked = info.network_unacked ? 1 : 0;
        attr->srtt_ns = info.srtt_ns;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_LOCAL_NAME) != 0) {
        std::snprintf(attr->name, sizeof(attr->name), "%s",
                      socket_ ? describe(socket_).c_str() : name_.c_str());
    }
    return status;
}

// ---- Failure ---------------------------------------------------------------------------------

void ep::break_with(socket_failure failure, int error, const char *text,
                    std::optional<uint64_t> guilty) noexcept
{
    if (is_failed()) {
        return;
    }
    char whole[160];
    std::snprintf(whole, sizeof(whole), "tcp ep %s: %s%s%s", name_.c_str(), text,
                  error != 0 ? ": " : "", error != 0 ? std::strerror(error) : "");
    ufx_info("%s", whole);
    fail({guilty ? uint64_t{UFX_UCT_ERROR_OP} : 0, failure.status, failure.cause, error, whole,
          guilty.value_or(0)});
}

void ep::local_fault(uint64_t guilty, const char *text) noexcept
{
    break_with({UFX_ERR_LOCAL_PROT, UFX_UCT_CAUSE_LOCAL_PROT}, EFAULT, text, guilty);
}

void ep::time_out() noexcept
{
    break_with({UFX_ERR_ENDPOINT_TIMEOUT, UFX_UCT_CAUSE_TIMED_OUT}, 0,
               phase_ == phase::waiting ? "the peer did not connect in time"
                                        : "no connection in time");
}

void ep::close_socket() noexcept
{
    if (socket_) {
        last_info_ = query_connection(socket_);
        last_info_.network_unacked = false;
        socket_.reset(); // also leaves the epoll set
    }
    phase_ = phase::closed;
}

void ep::quiesce() noexcept
{
    static_cast<ucs::list_node<connecting_tag> *>(this)->unlink();
    receiver_.drop_answer();
    replies_.clear();
    close_socket();
}

// Outside of a handler no complete frame waits in user space, so the side is quiet at once. Inside
// one, the frames behind it in the buffer are still handed over first.
ufx_status_t ep::make_quiet(ufx_uct_completion_t *quiet) noexcept
{
    if (!receiver_.processing()) {
        return UFX_OK;
    }
    if (quiet_ != nullptr && quiet != nullptr) {
        return UFX_ERR_BUSY;
    }
    quiet_ = quiet != nullptr ? quiet : quiet_;
    return UFX_INPROGRESS;
}

bool ep::can_post() noexcept
{
    return queue_.reserve(iface().settings().seg_size) != nullptr;
}

// ---- Tokens ----------------------------------------------------------------------------------

ucs::result<wire::rx_position> ep::parse_token(const void *token, size_t length) noexcept
{
    std::optional<wire::rx_position> position =
        wire::decode_position({static_cast<const std::byte *>(token), length});
    if (!position || !stream_.plausible(*position)) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return *position;
}

extent ep::judge(const op_record &record, uint64_t, const wire::rx_position &position,
                 size_t &partial) noexcept
{
    return stream_.judge(record, position, partial);
}

// ---- For the receiver ------------------------------------------------------------------------

bool ep::on_ack(uint32_t low) noexcept
{
    if (is_failed()) {
        return true; // what is outstanding is judged by the token now
    }
    if (!stream_.acknowledge(low)) {
        return false;
    }
    complete_ended();
    return true;
}

void ep::on_answer(op_record &record) noexcept
{
    tx_stream::answered(record);
    complete_ended();
}

void ep::complete_ended() noexcept
{
    while (!is_failed() && stream_.front_ended()) {
        queue_.complete_front(UFX_OK);
    }
}

// The refusal's ack covers all before the guilty op, so that one is the oldest now.
bool ep::on_refusal(uint32_t seq) noexcept
{
    if (is_failed()) {
        return true;
    }
    if (!stream_.refusable(seq)) {
        return false;
    }
    break_with({UFX_ERR_REMOTE_ACCESS, UFX_UCT_CAUSE_REMOTE_ACCESS}, 0,
               "the peer refused key, range or rights of an operation", stream_.index_of(seq));
    return true;
}

void ep::send_refusal(uint32_t seq) noexcept
{
    ufx_info("tcp ep %s: refused an operation of the peer: key, range or rights", name_.c_str());
    if (!is_failed() && !replies_.add_error(seq, UFX_ERR_REMOTE_ACCESS)) {
        break_with({UFX_ERR_NO_MEMORY, UFX_UCT_CAUSE_OWN_QP}, 0, "no memory for a refusal");
    }
}

} // namespace ufx::uct::tcp
