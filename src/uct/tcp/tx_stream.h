// SPDX-License-Identifier: BSD-3-Clause
// The frames of an ep's own ops: how far they are sent and acknowledged.
//
// The ops lie in the queue of the ep's base, in posting order:
//
//     first ........... sent ........... next
//     | wait for an ack  | to be sent      |
//
// Sequence numbers count frames from 0 and stand in op_record::transport[0]. Flush markers have no
// frame. A frame is made from its record whenever it is sent, so the record stays the only copy.
#ifndef UFX_UCT_TCP_TX_STREAM_H
#define UFX_UCT_TCP_TX_STREAM_H

#include "batch.h"
#include "wire.h"

#include "uct/base/judge.h"
#include "uct/base/op_queue.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ufx::uct::tcp {

class tx_stream {
public:
    explicit tx_stream(op_queue &queue) noexcept : queue_(queue) {}

    // The record was committed to the queue.
    void posted(op_record &record) noexcept
    {
        record.transport[0] = next_seq_++;
        record.transport[1] = 0;
        unsent_bytes_ += wire_bytes(record);
    }

    [[nodiscard]] uint64_t unsent_bytes() const noexcept { return unsent_bytes_; }

    [[nodiscard]] bool mid_frame() const noexcept { return offset_ != 0; }

    // Fills `to` with unsent frames, about `limit` bytes, whose headers carry `ack`.
    // @return where in it the first such header begins
    [[nodiscard]] size_t gather(batch &to, size_t limit, uint32_t ack) noexcept;

    // The first `bytes` of what gather() gave were sent. @return payload of the frames that are
    // wholly sent now
    size_t advance(size_t bytes) noexcept;

    // The peer applied `low` ops (low half of the count). False if it cannot have.
    [[nodiscard]] bool acknowledge(uint32_t low) noexcept
    {
        uint32_t more = low - static_cast<uint32_t>(acked_);
        if (more > sent_seq_ - acked_) {
            return false;
        }
        acked_ += more;
        return true;
    }

    [[nodiscard]] bool acknowledged(const op_record &record) const noexcept
    {
        return record.transport[0] < acked_;
    }

    // True if the oldest op is over: acknowledged, with its answer if it has one.
    [[nodiscard]] bool front_ended() noexcept
    {
        if (queue_.empty()) {
            return false;
        }
        const op_record &front = queue_.front();
        return acknowledged(front) && (!wants_answer(front) || front.transport[1] != 0);
    }

    // True if the peer can refuse the op `low` now: it is sent, at least in part, and next.
    [[nodiscard]] bool refusable(uint32_t low) const noexcept
    {
        return low == static_cast<uint32_t>(acked_) && (acked_ < sent_seq_ || offset_ > 0);
    }

    // Of the op that is sent next, in whole or to its end.
    [[nodiscard]] uint64_t sending() const noexcept { return sent_; }

    // Of the op `low`, which is sent at least in part.
    [[nodiscard]] uint64_t index_of(uint32_t low) noexcept;

    // The sent op whose answer comes next if its seq is `low`, else nullptr.
    [[nodiscard]] op_record *expects_answer(uint32_t low) noexcept;

    static void answered(op_record &record) noexcept { record.transport[1] = 1; }

    // Whether a peer can have told this position.
    [[nodiscard]] bool plausible(const wire::rx_position &position) noexcept;

    // In posting order from the oldest op on; markers are judged by the op before.
    [[nodiscard]] extent judge(const op_record &record, const wire::rx_position &position,
                               size_t &partial) noexcept;

    [[nodiscard]] static bool wants_answer(const op_record &record) noexcept
    {
        return record.kind == UFX_UCT_OP_GET || record.kind == UFX_UCT_OP_ATOMIC_FETCH;
    }

private:
    // Payload bytes on the wire: with an am's header.
    [[nodiscard]] static size_t payload_bytes(const op_record &record) noexcept
    {
        switch (record.kind) {
        case UFX_UCT_OP_AM:
            return record.header_length + record.length;
        case UFX_UCT_OP_PUT:
            return record.length;
        default:
            return 0;
        }
    }

    [[nodiscard]] static size_t wire_bytes(const op_record &record) noexcept;
    static void stage_head(batch &to, const op_record &record, uint32_t ack) noexcept;
    [[nodiscard]] static bool add_frame(batch &to, const op_record &record, uint32_t ack) noexcept;

    op_queue &queue_;
    uint64_t sent_ = 0;       // first op that is not wholly sent
    size_t offset_ = 0;       // bytes of its frame that are sent
    uint32_t offset_ack_ = 0; // ack field of that frame
    uint32_t gathered_ack_ = 0;
    uint64_t answer_ = 0; // no op before it waits for an answer
    uint64_t next_seq_ = 0;
    uint64_t sent_seq_ = 0;   // frames wholly sent
    uint64_t acked_ = 0;      // frames acknowledged
    uint64_t judged_seq_ = 0; // frames judged or before
    uint64_t unsent_bytes_ = 0;
};

} // namespace ufx::uct::tcp

#endif
