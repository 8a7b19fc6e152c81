// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of a connection: where the next bytes go, and frames made from them.
//
// Headers and small payloads are read into a buffer. The payload of a put goes straight into target
// memory, that of a get's answer straight into the local buffer, that of a long am into a
// descriptor; behind it one call reads on into the buffer. So at every moment the number of payload
// bytes of the current put that are in memory is known exactly.
#ifndef UFX_UCT_TCP_RECEIVER_H
#define UFX_UCT_TCP_RECEIVER_H

#include "regions.h"
#include "rx_desc.h"
#include "wire.h"

#include "uct/base/op_record.h"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace ufx::uct::tcp {

class ep;

class receiver {
public:
    // Longest iov of a get, and pieces of one read.
    static constexpr size_t max_iov = 16;
    static constexpr size_t max_pieces = max_iov + 1;

    // Throws bad_alloc.
    receiver(ep &owner, size_t buffer_size);
    ~receiver();
    receiver(const receiver &) = delete;
    receiver &operator=(const receiver &) = delete;

    // The next bytes go into registered memory: prepare(), the read and filled() are one section.
    [[nodiscard]] bool places_put() const noexcept { return sink_ == sink::put && remaining_ > 0; }

    // Where the next bytes belong; at most max_pieces entries.
    [[nodiscard]] size_t prepare(std::span<iovec, max_pieces> to) noexcept;

    // The first `bytes` of it were filled.
    void filled(size_t bytes) noexcept;

    // Handles all that is complete. Callbacks run; the ep may fail meanwhile.
    void process() noexcept;

    // The memory that prepare() named cannot be written: EFAULT.
    void unwritable() noexcept;

    // True if a whole frame that carries an op waits in the buffer, which can only be while
    // process() runs a handler.
    [[nodiscard]] bool processing() const noexcept { return processing_; }

    // Nothing may be written to local buffers of own ops any more.
    void drop_answer() noexcept;

    [[nodiscard]] wire::rx_position position() const noexcept { return {applied_, put_landed_}; }

    [[nodiscard]] uint64_t applied() const noexcept { return applied_; }

private:
    enum class sink { none, discard, put, am, answer };

    [[nodiscard]] bool next_frame() noexcept;
    [[nodiscard]] bool begin_frame(std::span<const std::byte> ext) noexcept;
    [[nodiscard]] bool begin_op(std::span<const std::byte> ext) noexcept;
    [[nodiscard]] bool begin_am() noexcept;
    [[nodiscard]] bool begin_put(std::span<const std::byte> ext) noexcept;
    [[nodiscard]] bool begin_get_data() noexcept;
    [[nodiscard]] bool run_get(std::span<const std::byte> ext) noexcept;
    [[nodiscard]] bool run_atomic(std::span<const std::byte> ext) noexcept;
    [[nodiscard]] bool take_atomic_reply(std::span<const std::byte> ext) noexcept;
    [[nodiscard]] bool end_frame() noexcept;
    [[nodiscard]] bool deliver_in_place() noexcept;
    [[nodiscard]] bool bad(const char *what) noexcept;

    [[nodiscard]] bool place(void *to, const void *from, size_t length) noexcept;
    void refuse() noexcept;
    void drain_buffer_into_sink() noexcept;
    void consumed(size_t bytes) noexcept;
    void set_piece(void *data, size_t length) noexcept;
    void compact() noexcept;

    [[nodiscard]] size_t buffered() const noexcept { return end_ - begin_; }

    ep &owner_;
    std::unique_ptr<std::byte[]> buffer_;
    size_t size_;
    size_t begin_ = 0; // unhandled bytes are [begin_, end_)
    size_t end_ = 0;

    // The frame whose payload is being read; sink::none between frames.
    wire::header frame_;
    sink sink_ = sink::none;
    size_t remaining_ = 0; // payload bytes to come
    size_t padding_ = 0;   // zeros to come after that
    wire::remote_key put_key_;
    rx_desc *am_ = nullptr;
    op_record *answer_ = nullptr;
    std::array<iovec, max_iov> pieces_{}; // where the rest of the payload goes
    size_t piece_ = 0;
    size_t piece_end_ = 0;

    uint64_t applied_ = 0;
    uint64_t put_landed_ = 0; // bytes of the put that is being read, or was cut off
    bool refused_ = false;
    bool processing_ = false;
};

} // namespace ufx::uct::tcp

#endif
