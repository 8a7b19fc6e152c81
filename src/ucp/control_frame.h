// SPDX-License-Identifier: BSD-3-Clause
// Frames of a control connection: u32 magic "UFXC", u32 length, then one message of
// core/control_codec.h. Over a lane the message goes as parts, without this frame (lane_control.h).
#ifndef UFX_UCP_CONTROL_FRAME_H
#define UFX_UCP_CONTROL_FRAME_H

#include "ucp/core/control_codec.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ufx::ucp {

inline constexpr std::size_t control_frame_size = 8;

// The message with the frame before it.
[[nodiscard]] std::vector<std::uint8_t> frame_control(const core::control_envelope &envelope,
                                                      const core::control_msg &msg);
// Length of the message behind a frame of control_frame_size bytes; nothing if it is not ours.
[[nodiscard]] std::optional<std::size_t> parse_frame(std::span<const std::uint8_t> bytes);

} // namespace ufx::ucp

#endif
