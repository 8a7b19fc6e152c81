// SPDX-License-Identifier: BSD-3-Clause
// Writes operations into the queue, one function a posting call. Each returns the record, or
// nullptr and no effect if the queue has no room. Limits are checked by the transport before. The
// record may keep `prefix` bytes of the transport's own, in front of what `data` points to.
#ifndef UFX_UCT_BASE_OP_PUSH_H
#define UFX_UCT_BASE_OP_PUSH_H

#include "op_queue.h"

namespace ufx::uct {

namespace detail {

inline void set_kind(op_record &record, ufx_uct_op_kind_t kind, ufx_uct_op_form_t form) noexcept
{
    record.kind = static_cast<uint8_t>(kind);
    record.form = static_cast<uint8_t>(form);
    record.header_length = 0;
    record.iov_count = 0;
}

inline void set_remote(op_record &record, uint64_t remote_addr, ufx_uct_rkey_t rkey) noexcept
{
    record.remote_addr = remote_addr;
    record.rkey = rkey;
}

inline void set_iov(op_record &record, const ufx_uct_iov_t *iov, size_t count) noexcept
{
    record.iov_count = static_cast<uint16_t>(count);
    record.length = iov_bytes(iov, count);
    std::memcpy(record.payload(), iov, count * sizeof(*iov));
}

} // namespace detail

[[nodiscard]] inline op_record *push_am_short(op_queue &queue, uint8_t id, uint64_t header,
                                              const void *payload, size_t length) noexcept
{
    op_record *record = queue.reserve(sizeof(header) + length);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    detail::set_kind(*record, UFX_UCT_OP_AM, UFX_UCT_FORM_SHORT);
    record->am_id = id;
    record->header_length = sizeof(header);
    record->length = length;
    record->comp = nullptr;
    std::memcpy(record->data(), &header, sizeof(header));
    if (length != 0) {
        std::memcpy(record->data() + sizeof(header), payload, length);
    }
    queue.commit(*record, sizeof(header) + length);
    return record;
}

// A record that was reserved, and packed.
inline void fill_am_bcopy(op_queue &queue, op_record &record, uint8_t id, size_t length,
                          size_t prefix) noexcept
{
    detail::set_kind(record, UFX_UCT_OP_AM, UFX_UCT_FORM_BCOPY);
    record.am_id = id;
    record.comp = nullptr;
    record.length = length;
    queue.commit(record, prefix + length);
    record.data_at += static_cast<uint32_t>(prefix);
}

// `max_length` is the most that `pack` may write; the record's length is what it wrote.
[[nodiscard]] inline op_record *push_am_bcopy(op_queue &queue, uint8_t id, ufx_uct_pack_cb_t pack,
                                              void *arg, size_t max_length,
                                              size_t prefix = 0) noexcept
{
    op_record *record = queue.reserve(prefix + max_length);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    fill_am_bcopy(queue, *record, id, pack(record->data() + prefix, arg), prefix);
    return record;
}

[[nodiscard]] inline op_record *push_am_zcopy(op_queue &queue, uint8_t id, const void *header,
                                              size_t header_length, const ufx_uct_iov_t *iov,
                                              size_t iov_count, ufx_uct_completion_t *comp,
                                              size_t prefix = 0) noexcept
{
    const size_t need = prefix + op_record::padded(header_length) + iov_count * sizeof(*iov);
    op_record *record = queue.reserve(need);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    detail::set_kind(*record, UFX_UCT_OP_AM, UFX_UCT_FORM_ZCOPY);
    record->am_id = id;
    record->header_length = static_cast<uint16_t>(header_length);
    record->comp = comp;
    record->data_at += static_cast<uint32_t>(prefix);
    if (header_length != 0) {
        std::memcpy(record->data(), header, header_length);
    }
    detail::set_iov(*record, iov, iov_count);
    queue.commit(*record, need);
    return record;
}

[[nodiscard]] inline op_record *push_put_short(op_queue &queue, const void *buffer, size_t length,
                                               uint64_t remote_addr, ufx_uct_rkey_t rkey) noexcept
{
    op_record *record = queue.reserve(length);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    detail::set_kind(*record, UFX_UCT_OP_PUT, UFX_UCT_FORM_SHORT);
    detail::set_remote(*record, remote_addr, rkey);
    record->comp = nullptr;
    record->length = length;
    if (length != 0) {
        std::memcpy(record->data(), buffer, length);
    }
    queue.commit(*record, length);
    return record;
}

// A record that was reserved, and packed.
inline void fill_put_bcopy(op_queue &queue, op_record &record, size_t length, uint64_t remote_addr,
                           ufx_uct_rkey_t rkey) noexcept
{
    detail::set_kind(record, UFX_UCT_OP_PUT, UFX_UCT_FORM_BCOPY);
    detail::set_remote(record, remote_addr, rkey);
    record.comp = nullptr;
    record.length = length;
    queue.commit(record, length);
}

[[nodiscard]] inline op_record *push_put_bcopy(op_queue &queue, ufx_uct_pack_cb_t pack, void *arg,
                                               size_t max_length, uint64_t remote_addr,
                                               ufx_uct_rkey_t rkey) noexcept
{
    op_record *record = queue.reserve(max_length);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    fill_put_bcopy(queue, *record, pack(record->data(), arg), remote_addr, rkey);
    return record;
}

// PUT or GET from or to an iov.
[[nodiscard]] inline op_record *push_rma_zcopy(op_queue &queue, ufx_uct_op_kind_t kind,
                                               const ufx_uct_iov_t *iov, size_t iov_count,
                                               uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                               ufx_uct_completion_t *comp) noexcept
{
    if (iov_count == 1 && !queue.full()) [[likely]] {
        return &queue.add_zcopy(kind, *iov, remote_addr, rkey, comp);
    }
    op_record *record = queue.reserve(iov_count * sizeof(*iov));
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    detail::set_kind(*record, kind, UFX_UCT_FORM_ZCOPY);
    detail::set_remote(*record, remote_addr, rkey);
    record->comp = comp;
    detail::set_iov(*record, iov, iov_count);
    queue.commit(*record, iov_count * sizeof(*iov));
    return record;
}

[[nodiscard]] inline op_record *push_get_short(op_queue &queue, void *buffer, size_t length,
                                               uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                               ufx_uct_completion_t *comp) noexcept
{
    op_record *record = queue.reserve(0);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    detail::set_kind(*record, UFX_UCT_OP_GET, UFX_UCT_FORM_SHORT);
    detail::set_remote(*record, remote_addr, rkey);
    record->comp = comp;
    record->length = length;
    record->result = buffer;
    queue.commit(*record, 0);
    return record;
}

// `room` bytes of data are kept for the answer, for a transport that gathers it there; or 0.
[[nodiscard]] inline op_record *push_get_bcopy(op_queue &queue, ufx_uct_unpack_cb_t unpack,
                                               void *arg, size_t length, size_t room,
                                               uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                               ufx_uct_completion_t *comp) noexcept
{
    op_record *record = queue.reserve(room);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    detail::set_kind(*record, UFX_UCT_OP_GET, UFX_UCT_FORM_BCOPY);
    detail::set_remote(*record, remote_addr, rkey);
    record->comp = comp;
    record->length = length;
    record->unpack.cb = unpack;
    record->unpack.arg = arg;
    queue.commit(*record, room);
    return record;
}

// Any atomic: `result` is nullptr for one without an answer, `compare` counts for cswap only.
[[nodiscard]] inline op_record *push_atomic(op_queue &queue, ufx_uct_atomic_op_t op, unsigned size,
                                            uint64_t operand, uint64_t compare, void *result,
                                            uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                            ufx_uct_completion_t *comp) noexcept
{
    if (queue.full()) [[unlikely]] {
        return nullptr;
    }
    op_record &record =
        queue.add_short(result == nullptr ? UFX_UCT_OP_ATOMIC_POST : UFX_UCT_OP_ATOMIC_FETCH,
                        UFX_UCT_FORM_SHORT, 0, 0, size);
    detail::set_remote(record, remote_addr, rkey);
    record.atomic_op = static_cast<uint8_t>(op);
    record.atomic_size = static_cast<uint8_t>(size);
    record.comp = comp;
    record.result = result;
    record.atomic = {.operand = operand, .compare = compare};
    return &record;
}

[[nodiscard]] inline op_record *push_check(op_queue &queue, ufx_uct_completion_t *comp) noexcept
{
    op_record *record = queue.reserve(0);
    if (record == nullptr) [[unlikely]] {
        return nullptr;
    }
    detail::set_kind(*record, UFX_UCT_OP_CHECK, UFX_UCT_FORM_SHORT);
    record->comp = comp;
    record->length = 0;
    queue.commit(*record, 0);
    return record;
}

} // namespace ufx::uct

#endif
