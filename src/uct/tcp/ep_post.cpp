// SPDX-License-Identifier: BSD-3-Clause
// Posting: writes a record, and sends at once only when much is waiting.
#include "iface.h"

#include "uct/base/atomics.h"

namespace ufx::uct::tcp {

namespace {

// Unsent bytes at which a post hands them to the kernel itself. Below it small frames gather until
// the next progress and leave in one call.
constexpr uint64_t send_at = 64 * 1024;

// Total length of an iov that respects the limits, else nothing.
std::optional<size_t> checked_length(const ufx_uct_iov_t *iov, size_t iov_count,
                                     size_t limit) noexcept
{
    if (iov_count > receiver::max_iov) {
        return std::nullopt;
    }
    size_t total = 0;
    for (size_t i = 0; i < iov_count; i++) {
        if (iov[i].length > limit - total) {
            return std::nullopt;
        }
        total += iov[i].length;
    }
    return total;
}

} // namespace

// The record of an accepted op, or nullptr if there was no room.
template <class Record>
ufx_status_t ep::posted(Record *record) noexcept
{
    if (record == nullptr) [[unlikely]] {
        return UFX_ERR_NO_RESOURCE;
    }
    stream_.posted(*record);
    iface().activate(*this);
    if (stream_.unsent_bytes() >= send_at && writable_) {
        (void)send_some(send_at, false);
    }
    return UFX_INPROGRESS;
}

ufx_status_t ep::am_short(uint8_t id, uint64_t header, const void *payload, size_t length) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX || length > iface().settings().seg_size - sizeof(header)) {
        return UFX_ERR_INVALID_PARAM;
    }
    ufx_status_t status = posted(push_am_short(queue_, id, header, payload, length));
    return status == UFX_INPROGRESS ? UFX_OK : status;
}

ssize_t ep::am_bcopy(uint8_t id, ufx_uct_pack_cb_t pack, void *arg, unsigned) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX) {
        return UFX_ERR_INVALID_PARAM;
    }
    op_record *record = push_am_bcopy(queue_, id, pack, arg, iface().settings().seg_size);
    ufx_status_t status = posted(record);
    return status == UFX_INPROGRESS ? static_cast<ssize_t>(record->length)
                                    : static_cast<ssize_t>(status);
}

ufx_status_t ep::am_zcopy(uint8_t id, const void *header, size_t header_length,
                          const ufx_uct_iov_t *iov, size_t iov_count, unsigned,
                          ufx_uct_completion_t *comp) noexcept
{
    if (id >= UFX_UCT_AM_ID_MAX || header_length > iface::max_am_header ||
        !checked_length(iov, iov_count, iface().settings().am_max - header_length)) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_am_zcopy(queue_, id, header, header_length, iov, iov_count, comp));
}

ufx_status_t ep::put_short(const void *buffer, size_t length, uint64_t remote_addr,
                           ufx_uct_rkey_t rkey) noexcept
{
    if (length > iface().settings().seg_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    ufx_status_t status = posted(push_put_short(queue_, buffer, length, remote_addr, rkey));
    return status == UFX_INPROGRESS ? UFX_OK : status;
}

ssize_t ep::put_bcopy(ufx_uct_pack_cb_t pack, void *arg, uint64_t remote_addr,
                      ufx_uct_rkey_t rkey) noexcept
{
    op_record *record =
        push_put_bcopy(queue_, pack, arg, iface().settings().seg_size, remote_addr, rkey);
    ufx_status_t status = posted(record);
    return status == UFX_INPROGRESS ? static_cast<ssize_t>(record->length)
                                    : static_cast<ssize_t>(status);
}

ufx_status_t ep::put_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                           ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if (!checked_length(iov, iov_count, wire::max_payload)) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_rma_zcopy(queue_, UFX_UCT_OP_PUT, iov, iov_count, remote_addr, rkey, comp));
}

ufx_status_t ep::get_short(void *buffer, size_t length, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                           ufx_uct_completion_t *comp) noexcept
{
    if (length > iface().settings().seg_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_get_short(queue_, buffer, length, remote_addr, rkey, comp));
}

ufx_status_t ep::get_bcopy(ufx_uct_unpack_cb_t unpack, void *arg, size_t length,
                           uint64_t remote_addr, ufx_uct_rkey_t rkey,
                           ufx_uct_completion_t *comp) noexcept
{
    if (length > iface().settings().seg_size) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_get_bcopy(queue_, unpack, arg, length, length, remote_addr, rkey, comp));
}

ufx_status_t ep::get_zcopy(const ufx_uct_iov_t *iov, size_t iov_count, uint64_t remote_addr,
                           ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    if (!checked_length(iov, iov_count, wire::max_payload)) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_rma_zcopy(queue_, UFX_UCT_OP_GET, iov, iov_count, remote_addr, rkey, comp));
}

ufx_status_t ep::post_atomic(ufx_uct_atomic_op_t op, unsigned size, uint64_t operand,
                             uint64_t compare, void *result, uint64_t remote_addr,
                             ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp) noexcept
{
    uint64_t allowed =
        result == nullptr ? atomic_post_mask : atomic_fetch_mask | 1u << UFX_UCT_ATOMIC_CSWAP;
    if (!in_mask(allowed, op) || remote_addr % size != 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    return posted(push_atomic(queue_, op, size, operand, compare, result, remote_addr, rkey, comp));
}

ufx_status_t ep::atomic32_post(ufx_uct_atomic_op_t op, uint32_t operand, uint64_t remote_addr,
                               ufx_uct_rkey_t rkey) noexcept
{
    ufx_status_t status = post_atomic(op, 4, operand, 0, nullptr, remote_addr, rkey, nullptr);
    return status == UFX_INPROGRESS ? UFX_OK : status;
}

ufx_status_t ep::atomic64_post(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t remote_addr,
                               ufx_uct_rkey_t rkey) noexcept
{
    ufx_status_t status = post_atomic(op, 8, operand, 0, nullptr, remote_addr, rkey, nullptr);
    return status == UFX_INPROGRESS ? UFX_OK : status;
}

ufx_status_t ep::atomic32_fetch(ufx_uct_atomic_op_t op, uint32_t operand, uint32_t *result,
                                uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                ufx_uct_completion_t *comp) noexcept
{
    if (op == UFX_UCT_ATOMIC_CSWAP || result == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return post_atomic(op, 4, operand, 0, result, remote_addr, rkey, comp);
}

ufx_status_t ep::atomic64_fetch(ufx_uct_atomic_op_t op, uint64_t operand, uint64_t *result,
                                uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                ufx_uct_completion_t *comp) noexcept
{
    if (op == UFX_UCT_ATOMIC_CSWAP || result == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return post_atomic(op, 8, operand, 0, result, remote_addr, rkey, comp);
}

ufx_status_t ep::atomic32_cswap(uint32_t compare, uint32_t swap, uint32_t *result,
                                uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                ufx_uct_completion_t *comp) noexcept
{
    if (result == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return post_atomic(UFX_UCT_ATOMIC_CSWAP, 4, swap, compare, result, remote_addr, rkey, comp);
}

ufx_status_t ep::atomic64_cswap(uint64_t compare, uint64_t swap, uint64_t *result,
                                uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                ufx_uct_completion_t *comp) noexcept
{
    if (result == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return post_atomic(UFX_UCT_ATOMIC_CSWAP, 8, swap, compare, result, remote_addr, rkey, comp);
}

ufx_status_t ep::check(ufx_uct_completion_t *comp) noexcept
{
    return posted(push_check(queue_, comp));
}

} // namespace ufx::uct::tcp
