// SPDX-License-Identifier: BSD-3-Clause
// What one sendmsg() takes: pieces of memory, and a staging buffer for headers and small payloads.
#ifndef UFX_UCT_TCP_BATCH_H
#define UFX_UCT_TCP_BATCH_H

#include "wire.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace ufx::uct::tcp {

// Small things of ours are copied into the staging buffer back to back, so that a run of small
// frames is one piece; what is longer than `copy_limit` is referenced where it is. So is all memory
// of a program, that only the kernel reads: it answers if that cannot be read.
class batch {
public:
    static constexpr size_t max_pieces = 256;
    static constexpr size_t staging_size = 64 * 1024;
    static constexpr size_t copy_limit = 512;

    void reset() noexcept
    {
        count_ = 0;
        bytes_ = 0;
        staged_ = 0;
    }

    [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

    [[nodiscard]] bool has_room(size_t pieces, size_t staged) const noexcept
    {
        return count_ + pieces <= max_pieces && staged_ + staged <= staging_size;
    }

    [[nodiscard]] std::span<iovec> pieces() noexcept { return std::span(pieces_).first(count_); }

    // `size` bytes of the staging buffer that the caller fills; has_room() was asked.
    [[nodiscard]] std::byte *stage(size_t size) noexcept
    {
        std::byte *at = staging_.data() + staged_;
        staged_ += size;
        append(at, size);
        return at;
    }

    // Own memory that stays valid until it was sent.
    void add(const void *data, size_t size) noexcept
    {
        if (size == 0) {
            return;
        }
        if (size <= copy_limit && staged_ + size <= staging_size) {
            std::memcpy(stage(size), data, size);
        } else {
            refer(data, size);
        }
    }

    // Memory of a program.
    void refer(const void *data, size_t size) noexcept
    {
        if (size > 0) {
            append(static_cast<std::byte *>(const_cast<void *>(data)), size);
        }
    }

    void pad(size_t payload) noexcept
    {
        static constexpr std::array<std::byte, 8> zeros{};
        add(zeros.data(), wire::padding(payload));
    }

    // Drops the first `size` bytes: an earlier call sent them.
    void skip(size_t size) noexcept
    {
        bytes_ -= size;
        size_t at = 0;
        while (at < count_ && size >= pieces_[at].iov_len) {
            size -= pieces_[at++].iov_len;
        }
        std::move(pieces_.begin() + static_cast<ptrdiff_t>(at),
                  pieces_.begin() + static_cast<ptrdiff_t>(count_), pieces_.begin());
        count_ -= at;
        if (count_ > 0) {
            pieces_[0].iov_base = static_cast<std::byte *>(pieces_[0].iov_base) + size;
            pieces_[0].iov_len -= size;
        }
    }

private:
    void append(std::byte *data, size_t size) noexcept
    {
        bytes_ += size;
        if (count_ > 0) {
            iovec &last = pieces_[count_ - 1];
            if (static_cast<std::byte *>(last.iov_base) + last.iov_len == data) {
                last.iov_len += size;
                return;
            }
        }
        pieces_[count_++] = {data, size};
    }

    std::array<iovec, max_pieces> pieces_;
    size_t count_ = 0;
    size_t bytes_ = 0;
    size_t staged_ = 0;
    std::array<std::byte, staging_size> staging_;
};

} // namespace ufx::uct::tcp

#endif
