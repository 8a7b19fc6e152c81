// SPDX-License-Identifier: BSD-3-Clause
// Control messages to bytes and back.
//
// Little endian, packed:
//   u8 version (control_version), u8 type (1 + index in control_msg), le64 sender's uuid,
//   le64 receiver's uuid (0 = not known yet, HELLO only), then the fields in the order of
//   control_fields.h: integers by their size, bool and enums as u8, a blob as u8 length and bytes,
//   a window as le64 next, u8 count of map words (at most 16, none trailing zero), le64 words, a
//   vector as le16 count and elements.
#ifndef UFX_UCP_CORE_CONTROL_CODEC_H
#define UFX_UCP_CORE_CONTROL_CODEC_H

#include "ucp/core/control_msg.h"
#include "ucs/result.h"

#include <cstddef>
#include <span>

namespace ufx::ucp::core {

struct control_envelope {
    std::uint64_t from = 0; // uuid of the sender; an old incarnation's messages are dropped by it
    std::uint64_t to = 0;
    bool operator==(const control_envelope &) const = default;
};

struct control_frame {
    control_envelope envelope;
    control_msg msg;
};

inline constexpr std::size_t max_control_bytes = max_hello_bytes + 64;

// Writes one message; the bytes used, or BUFFER_TOO_SMALL. max_control_bytes is always enough.
ucs::result<std::size_t> encode(const control_envelope &envelope, const control_msg &msg,
                                std::span<std::byte> to) noexcept;

// Reads exactly one message. VERSION: another version byte. BAD_MESSAGE: anything else that no
// sender of this version writes: unknown type, value out of range, too short, too long.
ucs::result<control_frame> decode(std::span<const std::byte> from);

} // namespace ufx::ucp::core

#endif
