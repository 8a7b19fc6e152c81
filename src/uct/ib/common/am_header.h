// SPDX-License-Identifier: BSD-3-Clause
// What stands in front of every message of the RC transports, and the flow control in it.
#ifndef UFX_UCT_IB_COMMON_AM_HEADER_H
#define UFX_UCT_IB_COMMON_AM_HEADER_H

#include <cstddef>
#include <cstdint>
#include <endian.h>
#include <utility>

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
    explicit flow_control(unsigned window) noexcept
        : half_(window / 2), plain_left_(window - window / 2)
    {
    }

    [[nodiscard]] bool may_send() const noexcept { return plain_left_ != 0 || !asked_; }

    // The next message need not ask; for such a one there is send_plain().
    [[nodiscard]] bool is_plain() const noexcept { return plain_left_ != 0; }

    void send_plain() noexcept { --plain_left_; }

    // One message goes out; true if it has to ask.
    [[nodiscard]] bool send() noexcept
    {
        if (is_plain()) {
            send_plain();
            return false;
        }
        asked_ = true;
        plain_left_ = half_ - 1;
        return true;
    }

    // False if nobody had asked.
    [[nodiscard]] bool grant() noexcept { return std::exchange(asked_, false); }

private:
    unsigned half_;
    unsigned plain_left_; // messages before one that asks, or before none may go
    bool asked_ = false;
};

} // namespace ufx::uct::ib

#endif
