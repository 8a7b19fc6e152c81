// SPDX-License-Identifier: BSD-3-Clause
// The AM window: which fragments of one direction's sequence have arrived.
#ifndef UFX_UCP_CORE_WINDOW_H
#define UFX_UCP_CORE_WINDOW_H

#include "ucp/core/types.h"

namespace ufx::ucp::core {

// Exactly {next, 1024-bit map}: everything below next() has arrived; bit i says whether
// next() + 1 + i has. (A bit for next() itself would always be clear.)
class window {
public:
    static constexpr unsigned bits = 1024;
    using map = std::array<std::uint64_t, bits / 64>;

    enum class arrival : std::uint8_t { FRESH, DUPLICATE, BEYOND };

    am_number next() const { return next_; }
    const map &bitmap() const { return map_; }

    bool covers(am_number n) const;
    // May `n` be recorded? BEYOND: it is farther ahead than the map reaches (the sender's bug).
    arrival look(am_number n) const
    {
        if (n > next_ + bits) {
            return arrival::BEYOND;
        }
        return n < next_ || (n > next_ && test(n)) ? arrival::DUPLICATE : arrival::FRESH;
    }
    // Records `n` and moves next() over every run that is now complete.
    arrival enter(am_number n)
    {
        if (n != next_ || ahead_ != 0) {
            return enter_ahead(n);
        }
        ++next_;
        return arrival::FRESH;
    }
    // As decoded from a message.
    static window from(am_number next, const map &bits);

    bool operator==(const window &) const = default;
    // Highest number in the map plus one, or next() if the map is empty.
    am_number end() const;

private:
    bool test(am_number n) const
    {
        const am_number bit = n - next_ - 1;
        return bit < bits && ((map_[bit / 64] >> (bit % 64)) & 1) != 0;
    }
    arrival enter_ahead(am_number n);

    am_number next_ = 0;
    unsigned ahead_ = 0; // bits that are set
    map map_{};
};

} // namespace ufx::ucp::core

#endif
