// SPDX-License-Identifier: BSD-3-Clause
// The header of every data-path frame (uct AM id 1) and the bodies of those that ucp itself sends.
//
// A message is a byte stream [user header][body or payload] cut into fragments of one size; each
// fragment is one frame with its own number. All integers are little endian.
//
//   0  u8  type (am_type)          24  u64 ack: the sender has got everything below
//   1  u8  flags: 0               32  u32 index of the fragment in its message
//   2  u16 rail                    36  u32 fragments of the message
//   4  u32 epoch of the lane       40  u64 length of the stream
//   8  u64 receiver's ep id        48  u64 offset of this fragment in the stream
//  16  u64 number                  56  u16 user id   58  u16 length of the user header   60  u32 0
#ifndef UFX_UCP_AM_WIRE_H
#define UFX_UCP_AM_WIRE_H

#include "ucp/core/types.h"
#include "ucs/bytes.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ufx::ucp {

inline constexpr std::uint8_t uct_am_control = 0; // control path over lanes
inline constexpr std::uint8_t uct_am_data = 1;    // frames of this header

inline constexpr std::size_t am_header_size = 64;
inline constexpr std::size_t max_user_header = 4096;
// A message may not fill more than half of the window.
inline constexpr std::uint32_t max_am_fragments = 512;
inline constexpr std::size_t max_am_fragment = 128 * 1024;
inline constexpr std::uint64_t max_am_stream = max_am_fragments * max_am_fragment;

enum class am_type : std::uint8_t {
    ACK = 0,  // no number, only `ack`
    SKIP = 1, // takes the place of a fragment whose message has ended
    USER = 2, // stream: user header, payload
    RTS = 3,  // rendezvous: stream is the user header and an rts_body
    ATS = 4,  // the rendezvous data was fetched (or dropped): ats_body
    ATOMIC_REQ = 5,
    ATOMIC_REP = 6,
    NOTIFY = 7, // notify_body, data
    COUNT
};

struct am_header {
    am_type type = am_type::ACK;
    std::uint8_t flags = 0;
    core::rail_id rail = 0;
    core::epoch_t epoch = 0;
    core::ep_id dst_ep = 0;
    core::am_number number = 0;
    core::am_number ack = 0;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::uint64_t total = 0;
    std::uint64_t offset = 0;
    std::uint16_t id = 0;
    std::uint16_t user_header = 0;
};

// Writes exactly am_header_size bytes.
void encode(const am_header &header, std::byte *to) noexcept;
// False if the frame does not parse or its fields contradict each other; then `header` is not
// written. `payload` is what follows the header.
[[nodiscard]] bool decode(std::span<const std::byte> frame, am_header &header,
                          std::span<const std::byte> &payload) noexcept;

// RTS: the data waits in the sender's memory.
struct rts_body {
    std::uint64_t request = 0; // the sender's handle, comes back in ATS
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::span<const std::byte> rkey; // packed
};
inline constexpr std::size_t rts_fixed_size = 24;
void encode(const rts_body &body, std::byte *to) noexcept;
[[nodiscard]] bool decode(std::span<const std::byte> bytes, rts_body &body) noexcept;

struct ats_body {
    std::uint64_t request = 0;
    std::int32_t status = 0;
};
inline constexpr std::size_t ats_size = 12;
void encode(const ats_body &body, std::byte *to) noexcept;
[[nodiscard]] bool decode(std::span<const std::byte> bytes, ats_body &body) noexcept;

struct atomic_req_body {
    std::uint64_t request = 0;
    std::uint64_t memory = 0; // memory id of the rkey
    std::uint64_t address = 0;
    std::uint64_t operand = 0;
    std::uint64_t compare = 0;
    std::uint8_t op = 0; // ufx_ucp_atomic_op_t
    std::uint8_t size = 0;
};
inline constexpr std::size_t atomic_req_size = 42;
void encode(const atomic_req_body &body, std::byte *to) noexcept;
[[nodiscard]] bool decode(std::span<const std::byte> bytes, atomic_req_body &body) noexcept;

struct atomic_rep_body {
    std::uint64_t request = 0;
    std::uint64_t value = 0; // before the operation
    std::int32_t status = 0;
};
inline constexpr std::size_t atomic_rep_size = 20;
void encode(const atomic_rep_body &body, std::byte *to) noexcept;
[[nodiscard]] bool decode(std::span<const std::byte> bytes, atomic_rep_body &body) noexcept;

} // namespace ufx::ucp

#endif
