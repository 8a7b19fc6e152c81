// SPDX-License-Identifier: BSD-3-Clause
// range_set: which bytes of a message have come, as merged ranges.
#ifndef UFX_UCS_RANGE_SET_H
#define UFX_UCS_RANGE_SET_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ufx::ucs {

struct byte_range {
    uint64_t begin;
    uint64_t end; // one past the last

    bool operator==(const byte_range &) const noexcept = default;
};

// Ranges are kept sorted, apart from each other, and not empty.
class range_set {
public:
    // Adds [begin, end); returns how many of its bytes are new, 0 for a pure duplicate.
    uint64_t add(uint64_t begin, uint64_t end);

    // Whether every byte of [begin, end) is in; true for an empty range.
    [[nodiscard]] bool covers(uint64_t begin, uint64_t end) const noexcept;

    // First byte at or after `from` that is missing.
    [[nodiscard]] uint64_t first_gap(uint64_t from = 0) const noexcept;

    // Bytes in all.
    [[nodiscard]] uint64_t total() const noexcept;

    [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }

    [[nodiscard]] std::span<const byte_range> ranges() const noexcept { return ranges_; }

    void clear() noexcept { ranges_.clear(); }

    bool operator==(const range_set &) const = default;

private:
    std::vector<byte_range> ranges_;
};

} // namespace ufx::ucs

#endif
