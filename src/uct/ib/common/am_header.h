// SPDX-License-Identifier: BSD-3-Clause
// What stands in front of every message of the RC transports, and the flow control in it.
#ifndef UFX_UCT_IB_COMMON_AM_HEADER_H
#define UFX_UCT_IB_COMMON_AM_HEADER_H

#include <cstddef>
#include <cstdint>
#include <endian.h>

namespace ufx::uct::ib {

// Eight bytes, so that what follows is aligned.
struct am_header {
    static constexpr uint8_t grant_id = 0x80; // a message of the transport itself: credit

    uint8_t id;
    uint8_t wants_grant;
    uint8_t spare[6];
};
static_assert(sizeof(am_header) == 8);

// The same as one word, for whoever writes it at once.
[[nodiscard]] inline uint64_t header_word(uint8_t id, bool wants_grant) noexcept
{
    return htole64(id | uint64_t{wants_grant} << 8);
}

// A sender may have `window` messages at a receiver that were not handled. Half-way it asks; the
// receiver's grant says that the first half was handled.
class flow_control {
public:
    explicit flow_control(unsigned window) noexcept : half_(window / 2), left_(window) {}

    [[nodiscard]] bool may_send() const noexcept { return left_ != 0; }

    // One message goes out; true if it has to ask.
    [[nodiscard]] bool send() noexcept { return left_-- == half_; }

    // False if nobody had asked.
    [[nodiscard]] bool grant() noexcept
    {
        if (left_ >= half_) {
            return false;
        }
        left_ += half_;
        return true;
    }

private:
    unsigned half_;
    unsigned left_;
};

} // namespace ufx::uct::ib

#endif
