// SPDX-License-Identifier: BSD-3-Clause
// Merging and lookup of byte ranges.
#include "range_set.h"

#include <algorithm>

namespace ufx::ucs {

uint64_t range_set::add(uint64_t begin, uint64_t end)
{
    if (begin >= end) {
        return 0;
    }
    // [first, last) are the ranges that overlap or touch the new one.
    auto first =
        std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                         [](const byte_range &range, uint64_t value) { return range.end < value; });
    auto last = first;
    uint64_t known = 0;
    byte_range merged = {begin, end};
    while (last != ranges_.end() && last->begin <= end) {
        uint64_t common_begin = std::max(last->begin, begin);
        uint64_t common_end = std::min(last->end, end);
        known += common_end > common_begin ? common_end - common_begin : 0;
        merged.begin = std::min(merged.begin, last->begin);
        merged.end = std::max(merged.end, last->end);
        ++last;
    }
    if (first == last) {
        ranges_.insert(first, merged);
    } else {
        *first = merged;
        ranges_.erase(first + 1, last);
    }
    return end - begin - known;
}

bool range_set::covers(uint64_t begin, uint64_t end) const noexcept
{
    return begin >= end || first_gap(begin) >= end;
}

uint64_t range_set::first_gap(uint64_t from) const noexcept
{
    auto at =
        std::upper_bound(ranges_.begin(), ranges_.end(), from,
                         [](uint64_t value, const byte_range &range) { return value < range.end; });
    return at != ranges_.end() && at->begin <= from ? at->end : from;
}

uint64_t range_set::total() const noexcept
{
    uint64_t sum = 0;
    for (const byte_range &range : ranges_) {
        sum += range.end - range.begin;
    }
    return sum;
}

} // namespace ufx::ucs
