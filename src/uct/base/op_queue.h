// SPDX-License-Identifier: BSD-3-Clause
// The outstanding operations of one ep, in posting order, with their payloads: a ring of records
// and a ring of bytes, both allocated once.
#ifndef UFX_UCT_BASE_OP_QUEUE_H
#define UFX_UCT_BASE_OP_QUEUE_H

#include "completion.h"
#include "op_record.h"

#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace ufx::uct {

// Operations are numbered from 0 in posting order; those in [first(), next()) are in the queue.
// They may end in any order, each exactly once; records leave from the front. A completion
// callback runs after its record has left or is marked done, so it may post to this queue, or drop
// it all (the ep's destroy): loops here expect both.
class op_queue {
public:
    // `max_ops` is rounded up to a power of two. `max_data` bounds the payload bytes that do not
    // fit into records; one operation may use half of it. Throws bad_alloc.
    op_queue(size_t max_ops, size_t max_data);

    [[nodiscard]] bool empty() const noexcept { return first_ == next_; }

    [[nodiscard]] bool full() const noexcept { return size() > mask_; }

    [[nodiscard]] size_t size() const noexcept { return next_ - first_; }

    [[nodiscard]] size_t capacity() const noexcept { return mask_ + 1; }

    // Payload bytes of the operations in the queue; looks at each of them.
    [[nodiscard]] uint64_t bytes() const noexcept;

    [[nodiscard]] uint64_t first() const noexcept { return first_; }

    [[nodiscard]] uint64_t next() const noexcept { return next_; }

    // All accepted operations: those of the queue, and those that needed no record.
    [[nodiscard]] uint64_t posted() const noexcept { return next_ + direct_; }

    // Operations that ended OK, and those that ended otherwise or were purged.
    [[nodiscard]] uint64_t completed() const noexcept { return first_ + done_ + direct_ - failed_; }

    [[nodiscard]] uint64_t failed() const noexcept { return failed_; }

    [[nodiscard]] op_record &at(uint64_t index) noexcept { return records_[index & mask_]; }

    // Records and payloads: all that `data` of a record may point into. For a device to register.
    [[nodiscard]] std::span<std::byte> memory() const noexcept
    {
        return {memory_.get(), (mask_ + 1) * sizeof(op_record) + data_mask_ + 1};
    }

    [[nodiscard]] op_record &front() noexcept { return at(first_); }

    // An operation that was applied at once and needs no record.
    void count_direct() noexcept { ++direct_; }

    // A new record at the end with room for `data_bytes`; nullptr and no effect if there is no
    // room. The caller writes the fields of its kind, then calls commit().
    [[nodiscard]] op_record *reserve(size_t data_bytes) noexcept
    {
        return full() ? nullptr : reserve_data(data_bytes);
    }

    // The same if it is not full: nullptr if there is no room for the data.
    [[nodiscard]] op_record *reserve_data(size_t data_bytes) noexcept
    {
        op_record &record = records_[next_ & mask_];
        if (data_bytes <= op_record::inline_size) [[likely]] {
            record.data_at = op_record::inline_at;
            return &record;
        }
        return reserve_ring(record, data_bytes);
    }

    // The reserved record is posted. Only the first `used` of its data bytes are kept.
    uint64_t commit(op_record &record, size_t used) noexcept
    {
        record.done = false;
        record.marker = false;
        if (!record.is_inline()) {
            data_tail_ = record.data_start + rounded(used);
            data_until_ = next_ + 1;
        }
        return next_++;
    }

    // reserve(), and commit() of an operation whose fields the caller writes before it posts
    // anything else: one whose data fits into the record, without a completion. There is room. What
    // was reserved just before, and not committed, can still be read.
    [[nodiscard]] op_record &add_short(ufx_uct_op_kind_t kind, ufx_uct_op_form_t form,
                                       uint8_t am_id, uint16_t header_length,
                                       size_t length) noexcept
    {
        op_record &record = records_[next_++ & mask_];
        record.set_kind(kind, form, am_id, header_length, 0);
        record.length = length;
        record.comp = nullptr;
        return record;
    }

    // The same for a put or get of one piece.
    [[nodiscard]] op_record &add_zcopy(ufx_uct_op_kind_t kind, const ufx_uct_iov_t &piece,
                                       uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                       ufx_uct_completion_t *comp) noexcept
    {
        op_record &record = records_[next_++ & mask_];
        record.note_rma(kind, piece, remote_addr, rkey);
        record.comp = comp;
        return record;
    }

    // A flush marker: it ends by itself when all before it have ended. nullptr if there is no room.
    [[nodiscard]] op_record *push_marker(bool remote, ufx_uct_completion_t *comp) noexcept;

    // Ends the oldest operation. At least one is in the queue, not ended.
    void complete_front(ufx_status_t status) noexcept
    {
        op_record &record = front();
        ufx_uct_completion_t *comp = record.comp;
        failed_ += status != UFX_OK;
        pop();
        if (comp != nullptr) {
            finish(comp, status);
        }
        if (!empty() && (front().done || front().marker)) [[unlikely]] {
            advance();
        }
    }

    // Those before `end` have ended OK. None of them is done, a flush marker, or has a completion
    // that somebody else does not call.
    void end_quietly(uint64_t end) noexcept { first_ = end; }

    // Ends one operation, once: false if it has ended already or was purged (a late answer).
    bool complete(uint64_t index, ufx_status_t status) noexcept;

    // Ends all before `end`, oldest first.
    void complete_until(uint64_t end, ufx_status_t status) noexcept;

    // Ends everything in the queue, oldest first; what callbacks post meanwhile is not touched.
    void complete_all(ufx_status_t status) noexcept { complete_until(next_, status); }

    // Forgets everything in the queue without callbacks.
    void drop() noexcept;

    // Hands out each operation, oldest first, with the verdict of `judge(record, index, bytes)`,
    // until `cb` refuses one; that one is the first of the next call.
    template <class Judge>
    [[nodiscard]] ufx_status_t purge(Judge &&judge, ufx_uct_purge_cb_t cb, void *arg) noexcept
    {
        while (!empty()) {
            op_record &record = front();
            if (!record.done) {
                size_t landed = 0;
                ufx_uct_verdict_t verdict = judge(record, first_, landed);
                ufx_uct_op_desc_t desc = describe(record, first_);
                ufx_status_t status = cb(arg, &desc, verdict, landed);
                if (status != UFX_OK) {
                    return status;
                }
                ++failed_;
            } else {
                --done_;
            }
            pop();
        }
        return UFX_OK;
    }

private:
    static constexpr size_t alignment = 16;

    [[nodiscard]] static constexpr uint64_t rounded(size_t bytes) noexcept
    {
        return (bytes + alignment - 1) & ~uint64_t{alignment - 1};
    }

    [[nodiscard]] op_record *reserve_ring(op_record &record, size_t data_bytes) noexcept;
    [[nodiscard]] uint64_t oldest_data() noexcept;

    void pop() noexcept { ++first_; }

    // Removes what has ended at the front, and ends flush markers that get there.
    void advance() noexcept;

    struct free_memory {
        void operator()(std::byte *memory) const noexcept
        {
            ::operator delete[](memory, std::align_val_t{alignof(op_record)});
        }
    };

    uint64_t mask_;
    uint64_t first_ = 0;
    uint64_t next_ = 0;
    uint64_t data_tail_ = 0;   // monotonic position in the byte ring
    uint64_t data_until_ = 0;  // behind the newest record with something there
    uint64_t data_oldest_ = 0; // no record in the queue before it has
    uint64_t data_mask_;
    std::unique_ptr<std::byte[], free_memory> memory_;
    op_record *records_; // its start
    std::byte *ring_;    // behind the records
    uint64_t done_ = 0; // ended, still in the queue
    uint64_t failed_ = 0;
    uint64_t direct_ = 0;
};

} // namespace ufx::uct

#endif
