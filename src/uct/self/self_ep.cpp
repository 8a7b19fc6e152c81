// SPDX-License-Identifier: BSD-3-Clause
// Ep of the self transport: posts go into the queue, progress runs them.
#include "self.h"

#include "ucs/bytes.h"
#include "uct/base/atomics.h"
#include "uct/base/copy.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace ufx::uct {

namespace {

void *remote(const op_record &record) noexcept
{
    return reinterpret_cast<void *>(record.remote_addr);
}

// Room for what bcopy may write four times over, and for a queue of long headers.
size_t ring_bytes(const self_config &config) noexcept
{
    return std::max<size_t>(4 * config.seg_size, 64 * 1024);
}

} // namespace

self_ep::self_ep(self_iface &iface, const ufx_uct_ep_params_t &params, uint64_t id)
    : failover_ep(iface, params, iface.config().tx_queue, ring_bytes(iface.config())), id_(id)
{
}

// ---- Posts
// ---------------------------------------------------------------------------------------

ufx_status_t self_ep::posted(const op_record *record, ufx_status_t accepted) noexcept
{
    if (record == nullptr) [[unlikely]] {
        return UFX_ERR_NO_RESOURCE;
    }
    if (!linked()) {
        iface().active_.push_back(*this);
    }
    return accepted;
}

// Hot: small messages go into the record without a call; the rest is out of line.
ufx_status_t self_ep::am_short(uint8_t id, uint64_t header, const void *payload,
                               size_t length) noexcept
{
    if (length > copy_small_max || id >= UFX_UCT_AM_ID_MAX || queue_.full()) [[unlikely]] {
        return am_short_any(id, header, payload, length);
    }
    op_record *record = queue_.reserve(sizeof(header) + copy_small_max);
    record->kind = UFX_UCT_OP_AM;
    record->form = UFX_UCT_FORM_SHORT;
    record->am_id = id;
    record->header_length = sizeof(header);
    record->iov_count = 0;
    record->length = length;
    record->comp = nullptr;
    std::memcpy(record->inline_data, &header, sizeof(header));
    copy_small(record->inline_data + sizeof(header), payload, length);
    queue_.commit(*record, sizeof(header) + length);
    return posted(record, UFX_OK);
}

ufx_status_t self_ep::am_short_any(uint8_t id, uint64_t header, const void *payload,
                                   size_t length) noexcept
{
    if (length > self_max_short - sizeof(header) || id >= UFX_UCT_AM_ID_MAX) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_am_short(queue_, id, header, payload, length), UFX_OK);
}

ssize_t self_ep::am_bcopy(uint8_t id, ufx_uct_pack_cb_t pack, void *arg, unsigned) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX) [[unlikely]] {
        return UFX_ERR_INVALID_PARAM;
    }
    const op_record *record = push_am_bcopy(queue_, id, pack, arg, iface().config_.seg_size);
    ufx_status_t status = posted(record, UFX_OK);
    return status == UFX_OK ? static_cast<ssize_t>(record->length) : ssize_t{status};
}

ufx_status_t self_ep::am_zcopy(uint8_t id, const void *header, size_t header_length,
                               const ufx_uct_iov_t *iov, size_t iov_count, unsigned,
                               ufx_uct_completion_t *comp) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX || header_length > self_max_hdr || iov_count > self_max_iov ||
        iov_bytes(iov, iov_count) > iface().config_.seg_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_am_zcopy(queue_, id, header, header_length, iov, iov_count, comp),
                  UFX_INPROGRESS);
}

// Hot. With nothing before it, a short put needs no record: it is done.
ufx_status_t self_ep::put_short(const void *buffer, size_t length, uint64_t remote_addr,
                                ufx_uct_rkey_t rkey) noexcept
{
    if (length > copy_small_max || !queue_.empty()) [[unlikely]] {
        return put_short_any(buffer, length, remote_addr, rkey);
    }
    queue_.count_direct();
    copy_small(reinterpret_cast<void *>(remote_addr), buffer, length);
    return UFX_OK;
}

ufx_status_t self_ep::put_short_any(const void *buffer, size_t length, uint64_t remote_addr,
                                    ufx_uct_rkey_t rkey) noexcept
{
    if (length > self_max_short) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (queue_.empty()) {
        queue_.count_direct();
        std::memmove(reinterpret_cast<void *>(remote_addr), buffer, length);
        return UFX_OK;
    }
    return posted(push_put_short(queue_, buffer, length, remote_addr, rkey), UFX_OK);
}

ssize_t self_ep::put_bcopy(ufx_uct_pack_cb_t pack, void *arg, uint64_t remote_addr,
                           ufx_uct_rkey_t rkey) noexcept
{
    const op_record *record =
        push_put_bcopy(queue_, pack, arg, iface().config_.seg_size, remote_addr, rkey);
    ufx_status_t status = posted(record, UFX_OK);
    return status == UFX_OK ? static_cast<ssize_t>(record->length) : ssize_t{status};
}

ufx_status_t self_ep::post_rma(ufx_uct_op_kind_t kind, const ufx_uct_iov_t *iov, size_t iov_count,
                               uint64_t remote_addr, ufx_uct_rkey_t rkey,
                               ufx_uct_completion_t *comp) noexcept
{
    if (iov_count > self_max_iov) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_rma_zcopy(queue_, kind, iov, iov_count, remote_addr, rkey, comp),
                  UFX_INPROGRESS);
}

ufx_status_t self_ep::put_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    return post_rma(UFX_UCT_OP_PUT, iov, iov_count, remote_addr, rkey, comp);
}

ufx_status_t self_ep::get_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    return post_rma(UFX_UCT_OP_GET, iov, iov_count, remote_addr, rkey, comp);
}

ufx_status_t self_ep::get_short(void *buffer, size_t length, uint64_t remote_addr,
                                ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if (length > self_max_short) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_get_short(queue_, buffer, length, remote_addr, rkey, comp), UFX_INPROGRESS);
}

ufx_status_t self_ep::get_bcopy(ufx_uct_unpack_cb_t unpack, void *arg, size_t length,
                                uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                ufx_uct_completion_t *comp) noexcept
{
    if (length > iface().config_.seg_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_get_bcopy(queue_, unpack, arg, length, 0, remote_addr, rkey, comp),
                  UFX_INPROGRESS);
}

ufx_status_t self_ep::post_atomic(ufx_uct_atomic_op_t op, uint64_t allowed, unsigned size,
                                  uint64_t operand, uint64_t compare, void *result,
                                  uint64_t remote_addr, ufx_uct_completion_t *comp) noexcept
{
    if (!in_mask(allowed, op) || remote_addr % size != 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_atomic(queue_, op, size, operand, compare, result, remote_addr, 0, comp),
                  result == nullptr ? UFX_OK : UFX_INPROGRESS);
}

ufx_status_t self_ep::atomic32_post(ufx_uct_atomic_op_t op, uint32_t operand, uint64_t remote_addr,
                                    ufx_uct_rkey_t) noexcept
{
    return post_atomic(op, atomic_post_mask, 4, operand, 0, nullptr, remote_addr, nullptr);
}

ufx_status_t self_ep::atomic64_post(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t remote_addr,
                                    ufx_uct_rkey_t) noexcept
{
    return post_atomic(op, atomic_post_mask, 8, operand, 0, nullptr, remote_addr, nullptr);
}

ufx_status_t self_ep::atomic32_fetch(ufx_uct_atomic_op_t op, uint32_t operand, uint32_t *result,
                                     uint64_t remote_addr, ufx_uct_rkey_t,
                                     ufx_uct_completion_t *comp) noexcept
{
    return post_atomic(op, atomic_fetch_mask, 4, operand, 0, result, remote_addr, comp);
}

ufx_status_t self_ep::atomic64_fetch(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t *result,
                                     uint64_t remote_addr, ufx_uct_rkey_t,
                                     ufx_uct_completion_t *comp) noexcept
{
    return post_atomic(op, atomic_fetch_mask, 8, operand, 0, result, remote_addr, comp);
}

ufx_status_t self_ep::atomic32_cswap(uint32_t compare, uint32_t swap, uint32_t *result,
                                     uint64_t remote_addr, ufx_uct_rkey_t,
                                     ufx_uct_completion_t *comp) noexcept
{
    return post_atomic(UFX_UCT_ATOMIC_CSWAP, 1u << UFX_UCT_ATOMIC_CSWAP, 4, swap, compare, result,
                       remote_addr, comp);
}

ufx_status_t self_ep::atomic64_cswap(uint64_t compare, uint64_t swap, uint64_t *result,
                                     uint64_t remote_addr, ufx_uct_rkey_t,
                                     ufx_uct_completion_t *comp) noexcept
{
    return post_atomic(UFX_UCT_ATOMIC_CSWAP, 1u << UFX_UCT_ATOMIC_CSWAP, 8, swap, compare, result,
                       remote_addr, comp);
}

ufx_status_t self_ep::check(ufx_uct_completion_t *comp) noexcept
{
    return posted(push_check(queue_, comp), UFX_INPROGRESS);
}

ufx_status_t self_ep::fence() noexcept
{
    return is_failed() ? failed_status() : UFX_OK; // operations run in order
}

// ---- Progress
// ------------------------------------------------------------------------------------

// Hot for messages in one piece; the other kinds are out of line.
unsigned self_ep::run(unsigned budget) noexcept
{
    self_iface &owner = iface();
    unsigned count = 0;
    while (count < budget && !queue_.empty() && !is_failed()) {
        op_record &record = queue_.front();
        const uint64_t index = queue_.first();
        if (record.kind == UFX_UCT_OP_AM && record.form != UFX_UCT_FORM_ZCOPY) [[likely]] {
            owner.rx_bytes_ += record.length;
            owner.ams_.call(record.am_id, record.data(), record.header_length + record.length, 0);
        } else {
            run_other(record);
        }
        ++count;
        // The handler may have destroyed the ep, which leaves nothing in the queue.
        if (queue_.first() == index && !queue_.empty()) [[likely]] {
            final_ran_ = index + 1;
            queue_.complete_front(UFX_OK);
        }
    }
    if (!queue_.empty() && !is_failed() && !linked()) {
        owner.active_.push_back(*this);
    }
    return count;
}

void self_ep::run_other(op_record &record) noexcept
{
    switch (record.kind) {
    case UFX_UCT_OP_AM:
        run_am_zcopy(record);
        break;
    case UFX_UCT_OP_PUT:
        run_put(record);
        break;
    case UFX_UCT_OP_GET:
        run_get(record);
        break;
    case UFX_UCT_OP_ATOMIC_POST:
    case UFX_UCT_OP_ATOMIC_FETCH:
        run_atomic(record);
        break;
    default: // check, flush: that they come to their turn is all
        break;
    }
}

void self_ep::run_am_zcopy(op_record &record) noexcept
{
    std::byte *to = iface().gather_.get();
    if (record.header_length != 0) {
        std::memcpy(to, record.data(), record.header_length);
    }
    size_t length = record.header_length;
    for (size_t i = 0; i < record.iov_count; ++i) {
        const ufx_uct_iov_t &piece = record.iov()[i];
        if (piece.length != 0) {
            std::memcpy(to + length, piece.buffer, piece.length);
            length += piece.length;
        }
    }
    iface().rx_bytes_ += record.length;
    iface().ams_.call(record.am_id, to, length, 0);
}

void self_ep::run_put(const op_record &record) noexcept
{
    auto *to = static_cast<std::byte *>(remote(record));
    if (record.form != UFX_UCT_FORM_ZCOPY) {
        std::memmove(to, record.payload(), record.length);
        return;
    }
    for (size_t i = 0; i < record.iov_count; ++i) {
        const ufx_uct_iov_t &piece = record.iov()[i];
        if (piece.length != 0) {
            std::memmove(to, piece.buffer, piece.length);
            to += piece.length;
        }
    }
}

void self_ep::run_get(const op_record &record) noexcept
{
    const auto *from = static_cast<const std::byte *>(remote(record));
    switch (record.form) {
    case UFX_UCT_FORM_SHORT:
        std::memmove(record.result, from, record.length);
        break;
    case UFX_UCT_FORM_BCOPY:
        record.unpack.cb(record.unpack.arg, from, record.length);
        break;
    default:
        for (size_t i = 0; i < record.iov_count; ++i) {
            const ufx_uct_iov_t &piece = record.iov()[i];
            if (piece.length != 0) {
                std::memmove(piece.buffer, from, piece.length);
                from += piece.length;
            }
        }
    }
}

void self_ep::run_atomic(const op_record &record) noexcept
{
    const uint64_t before =
        apply_atomic(static_cast<ufx_uct_atomic_op_t>(record.atomic_op), record.atomic_size,
                     remote(record), record.atomic.operand, record.atomic.compare);
    if (record.kind != UFX_UCT_OP_ATOMIC_FETCH) {
        return;
    }
    if (record.atomic_size == sizeof(uint32_t)) {
        const auto low = static_cast<uint32_t>(before);
        std::memcpy(record.result, &low, sizeof(low));
    } else {
        std::memcpy(record.result, &before, sizeof(before));
    }
}

// ---- Connection, failure, tokens
// -----------------------------------------------------------------

ufx_status_t self_ep::connect_to_iface(const void *device_addr, const void *iface_addr) noexcept
{
    if (iface().is_reachable(device_addr, iface_addr) == 0) {
        return UFX_ERR_NET_UNREACHABLE;
    }
    go_live();
    if (!iface().link_up_) {
        fail_link();
    }
    return UFX_OK;
}

void self_ep::fail_link() noexcept
{
    fail(error_of(UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_INJECTED,
                  "self: the link was taken down by set_link"));
}

// Nothing runs from now on. An operation that is running just now has run.
void self_ep::quiesce() noexcept
{
    final_ran_ = std::max(final_ran_, queue_.first());
    unlink();
}

bool self_ep::can_post() const noexcept
{
    return !queue_.full();
}

ufx_status_t self_ep::make_quiet(ufx_uct_completion_t *) noexcept
{
    return UFX_OK; // quiet since quiesce()
}

ufx_status_t self_ep::query(ufx_uct_ep_attr_t *attr) noexcept
{
    ufx_status_t status = failover_ep::query(attr);
    if ((attr->field_mask & UFX_UCT_EP_ATTR_TX_TOKEN) != 0) {
        ucs::store_le64(attr->tx_token, id_);
        attr->tx_token_len = self_iface::token_len;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_LOCAL_NAME) != 0) {
        std::snprintf(attr->name, sizeof(attr->name), "self#%llu",
                      static_cast<unsigned long long>(id_));
    }
    return status;
}

ucs::result<self_position> self_ep::parse_token(const void *token, size_t length) const noexcept
{
    if (length != self_iface::token_len) {
        return UFX_ERR_BAD_MESSAGE;
    }
    self_position position{ucs::load_le64(token)};
    if (position.ran > queue_.next()) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return position;
}

extent self_ep::judge(const op_record &, uint64_t index, const self_position &position,
                      size_t &) const noexcept
{
    return index < position.ran ? extent::whole : extent::none;
}

} // namespace ufx::uct
