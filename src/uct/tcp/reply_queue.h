// SPDX-License-Identifier: BSD-3-Clause
// Answers that wait to be sent to a peer: data of its gets, values of its atomics, a refusal.
#ifndef UFX_UCT_TCP_REPLY_QUEUE_H
#define UFX_UCT_TCP_REPLY_QUEUE_H

#include "batch.h"
#include "regions.h"
#include "wire.h"

#include "ucs/list.h"
#include "ucs/pool.h"

#include <ufx/status.h>

#include <memory>

namespace ufx::uct::tcp {

struct reply_order;

// The data of a get is sent from the target's memory without a copy. If that memory is about to
// change or to go before it was sent, the reply takes a copy: see protect() and regions.h.
struct reply : region_user, ucs::list_node<reply_order> {
    reply() noexcept : region_user(&reply::take_copy) {}

    // Keeps what is not sent yet. Without memory for it the reply is broken.
    static void take_copy(region_user &self) noexcept;

    std::byte head[wire::header_size + wire::reply_ext_size];
    size_t head_size = 0;
    const std::byte *data = nullptr;
    size_t length = 0;
    size_t sent = 0;            // of head, data and padding
    size_t protected_bytes = 0; // counted by its queue
    bool broken = false;
    std::unique_ptr<std::byte[]> copy;

    [[nodiscard]] size_t wire_bytes() const noexcept
    {
        return head_size + length + wire::padding(length);
    }
};

// broken(), add_data(), protect(), gather() and what is sent and advanced by that belong into one
// section of the reader.
class reply_queue {
public:
    using pool = ucs::pool<reply>;

    reply_queue(pool &from, region_reader &regions) noexcept : pool_(from), regions_(regions) {}

    ~reply_queue() { clear(); }

    // Each is false if there is no memory or the peer has far more unanswered ops than it may.
    [[nodiscard]] bool add_data(uint32_t seq, region &from, const std::byte *data,
                                size_t length) noexcept;
    [[nodiscard]] bool add_value(uint32_t seq, uint64_t value) noexcept;
    [[nodiscard]] bool add_error(uint32_t seq, ufx_status_t status) noexcept;

    // Memory that a later op of the peer changes: replies that still read it keep a copy. What a
    // peer can make us keep so is bounded; beyond it the replies are broken.
    void protect(const std::byte *start, size_t length) noexcept;

    [[nodiscard]] bool empty() noexcept { return replies_.empty(); }

    [[nodiscard]] bool mid_frame() noexcept
    {
        return !replies_.empty() && replies_.front().sent > 0;
    }

    // True if the next reply has lost its data: the stream cannot go on.
    [[nodiscard]] bool broken() noexcept { return !replies_.empty() && replies_.front().broken; }

    // The memory that the next reply reads cannot be read: no op is let into its region any more.
    void unreadable() noexcept;

    // As in tx_stream.
    [[nodiscard]] size_t gather(batch &to, size_t limit, uint32_t ack) noexcept;
    void advance(size_t bytes) noexcept;
    void clear() noexcept;

private:
    [[nodiscard]] reply *add(wire::frame_type type, uint32_t seq, uint32_t length) noexcept;

    pool &pool_;
    region_reader &regions_;
    ucs::list<reply, reply_order> replies_;
    size_t count_ = 0;
    size_t protected_bytes_ = 0;
};

} // namespace ufx::uct::tcp

#endif
