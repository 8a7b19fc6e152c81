// SPDX-License-Identifier: BSD-3-Clause
// The record of one outstanding operation: the journal entry from which it can be replayed.
#ifndef UFX_UCT_BASE_OP_RECORD_H
#define UFX_UCT_BASE_OP_RECORD_H

#include <ufx/uct_types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <endian.h>
#include <new>

namespace ufx::uct {

// Fields that a kind does not use are not written. The data is the am header, padded to 8 bytes,
// then the payload (short, bcopy) or the iov (zcopy); it lies in `inline_data` or in the ring of
// the queue, and stays where it is until the operation has ended, so a transport may send from it.
struct alignas(64) op_record {
    static constexpr size_t inline_size = 96;
    static constexpr uint32_t inline_at = 96; // of inline_data

    uint8_t kind;        // ufx_uct_op_kind_t
    uint8_t form;        // ufx_uct_op_form_t
    uint8_t am_id;       // am
    uint8_t atomic_op;   // ufx_uct_atomic_op_t
    uint8_t atomic_size; // 4 or 8
    bool done;           // ended, waits for older ones to leave the queue
    bool marker;         // a flush: ends when all before it have
    uint8_t spare;
    uint16_t header_length;
    uint16_t iov_count;
    uint32_t data_at;    // the data's distance from the record
    uint64_t length;     // payload, without the am header
    uint64_t data_start; // position in the ring of the data, if it is there
    ufx_uct_completion_t *comp;
    uint64_t remote_addr;
    ufx_uct_rkey_t rkey;
    void *result; // fetch, get_short
    union {
        struct {
            uint64_t operand;
            uint64_t compare;
        } atomic;
        struct {
            ufx_uct_unpack_cb_t cb;
            void *arg;
        } unpack; // get_bcopy
    };
    uint64_t transport[2]; // of the transport: start PSN, frame position
    std::byte inline_data[inline_size];

    // Of a new operation whose data fits in: what it is, and that it has not ended; most of it is
    // for a purge alone. All before `length`, by two stores.
    void set_kind(ufx_uct_op_kind_t new_kind, ufx_uct_op_form_t new_form, uint8_t new_am_id,
                  uint16_t new_header_length, uint16_t new_iov_count) noexcept
    {
        const uint64_t words[2] = {
            htole64(static_cast<uint64_t>(new_kind) | static_cast<uint64_t>(new_form) << 8 |
                    static_cast<uint64_t>(new_am_id) << 16),
            htole64(new_header_length | uint64_t{new_iov_count} << 16 | uint64_t{inline_at} << 32)};
        static_assert(sizeof(words) == offsetof(op_record, length));
        std::memcpy(static_cast<void *>(this), &words[0], sizeof(words[0]));
        std::memcpy(&header_length, &words[1], sizeof(words[1]));
    }

    // A put or get of one piece, for a purge alone.
    void note_rma(ufx_uct_op_kind_t new_kind, const ufx_uct_iov_t &piece, uint64_t to,
                  ufx_uct_rkey_t key) noexcept
    {
        set_kind(new_kind, UFX_UCT_FORM_ZCOPY, 0, 0, 1);
        length = piece.length;
        ::new (inline_data) ufx_uct_iov_t{piece.buffer, piece.length, piece.memh};
        remote_addr = to;
        rkey = key;
    }

    [[nodiscard]] static constexpr size_t padded(size_t header_length) noexcept
    {
        return (header_length + 7) & ~size_t{7};
    }

    [[nodiscard]] const std::byte *data() const noexcept
    {
        return reinterpret_cast<const std::byte *>(this) + data_at;
    }

    [[nodiscard]] std::byte *data() noexcept
    {
        return reinterpret_cast<std::byte *>(this) + data_at;
    }

    [[nodiscard]] const std::byte *payload() const noexcept
    {
        return data() + padded(header_length);
    }

    [[nodiscard]] std::byte *payload() noexcept { return data() + padded(header_length); }

    [[nodiscard]] const ufx_uct_iov_t *iov() const noexcept
    {
        return reinterpret_cast<const ufx_uct_iov_t *>(payload());
    }

    [[nodiscard]] bool is_inline() const noexcept { return data_at < sizeof(*this); }

    [[nodiscard]] bool is_flush() const noexcept
    {
        return kind == UFX_UCT_OP_FLUSH_LOCAL || kind == UFX_UCT_OP_FLUSH_REMOTE;
    }
};
static_assert(sizeof(op_record) == 192);
static_assert(offsetof(op_record, inline_data) == op_record::inline_at);

// What the user of outstanding_purge() sees of a record; pointers are valid while the record is.
[[nodiscard]] ufx_uct_op_desc_t describe(const op_record &record, uint64_t index) noexcept;

// Total bytes of an iov.
[[nodiscard]] inline size_t iov_bytes(const ufx_uct_iov_t *iov, size_t count) noexcept
{
    size_t total = 0;
    for (size_t i = 0; i < count; ++i) {
        total += iov[i].length;
    }
    return total;
}

} // namespace ufx::uct

#endif
