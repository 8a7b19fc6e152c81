// SPDX-License-Identifier: BSD-3-Clause
// Control frames over lanes: cut to what a lane takes, queued until it has room, put together
// again.
//
// A frame goes as parts of uct AM uct_am_control: u64 uuid of the sender, u16 rail, u16 number of
// the frame, u16 index of the part, u16 count of parts, then bytes. Parts of a frame use one lane,
// which keeps their order; a frame of which a part is missing is dropped, for its message is
// resent.
#ifndef UFX_UCP_LANE_CONTROL_H
#define UFX_UCP_LANE_CONTROL_H

#include "ucp/core/types.h"

#include <ufx/uct.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace ufx::ucp {

struct control_part {
    static constexpr std::size_t header_size = 16;
    std::uint64_t from = 0;
    core::rail_id rail = 0;
    std::uint16_t frame = 0;
    std::uint16_t index = 0;
    std::uint16_t count = 0;
    std::span<const std::uint8_t> bytes;
};
// Nothing if it does not parse.
[[nodiscard]] std::optional<control_part> parse_control_part(std::span<const std::uint8_t> from);

// The sending half of one lane. What finds no room waits in the lane's own pending queue, in which
// every request gets its turn before new posts: the next credit that comes free is the control
// path's however much data waits. (Of a lane on which no credit ever comes free nothing can be
// expected.)
class control_sender {
public:
    explicit control_sender(ufx_uct_ep_h over, std::size_t max_bcopy);
    control_sender(const control_sender &) = delete;
    control_sender &operator=(const control_sender &) = delete;

    void send(const control_part &head, std::span<const std::uint8_t> frame);

private:
    struct request : ufx_uct_pending_req_t {
        control_sender *self = nullptr;
    };
    static ufx_status_t on_room(ufx_uct_pending_req_t *pending) UFX_NOEXCEPT;
    // OK: nothing waits any more.
    ufx_status_t post();

    static constexpr std::size_t max_waiting = 64;
    static constexpr unsigned max_attempts = 4; // then it is resent
    ufx_uct_ep_h over_;
    std::size_t part_bytes_;
    std::deque<std::vector<std::uint8_t>> parts_;
    request pending_{};
    bool in_queue_ = false;
};

// The receiving half, of one rail.
class control_receiver {
public:
    // The whole frame, once its last part is there; valid until the next call.
    std::span<const std::uint8_t> take(const control_part &part);

private:
    std::vector<std::uint8_t> frame_;
    std::uint16_t number_ = 0;
    std::uint16_t next_ = 0;
};

} // namespace ufx::ucp

#endif
