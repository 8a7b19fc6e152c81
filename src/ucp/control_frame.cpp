// SPDX-License-Identifier: BSD-3-Clause
// Frames of a control connection.
#include "ucp/control_frame.h"

#include "ucs/bytes.h"

namespace ufx::ucp {

namespace {
constexpr std::uint32_t frame_magic = 0x43584655; // "UFXC"
}

std::vector<std::uint8_t> frame_control(const core::control_envelope &envelope,
                                        const core::control_msg &msg)
{
    std::vector<std::uint8_t> bytes(control_frame_size + core::max_control_bytes);
    const auto room = std::as_writable_bytes(std::span(bytes)).subspan(control_frame_size);
    const std::size_t length = core::encode(envelope, msg, room).value_or(std::size_t{0});
    ucs::byte_writer w(bytes.data(), control_frame_size);
    w.le32(frame_magic);
    w.le32(static_cast<std::uint32_t>(length));
    bytes.resize(control_frame_size + length);
    return bytes;
}

std::optional<std::size_t> parse_frame(std::span<const std::uint8_t> bytes)
{
    ucs::byte_reader r(bytes.data(), bytes.size());
    const std::uint32_t read_magic = r.le32();
    const std::uint32_t length = r.le32();
    if (!r.ok() || read_magic != frame_magic || length == 0 || length > core::max_control_bytes) {
        return std::nullopt;
    }
    return length;
}

} // namespace ufx::ucp
