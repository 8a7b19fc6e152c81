// SPDX-License-Identifier: BSD-3-Clause
// Control frames over lanes.
#include "ucp/lane_control.h"

#include "ucp/am_wire.h"
#include "ucp/core/control_codec.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <cstring>

namespace ufx::ucp {

std::optional<control_part> parse_control_part(std::span<const std::uint8_t> from)
{
    ucs::byte_reader r(from.data(), from.size());
    control_part part;
    part.from = r.le64();
    part.rail = r.le16();
    part.frame = r.le16();
    part.index = r.le16();
    part.count = r.le16();
    if (!r.ok() || part.index >= part.count) {
        return std::nullopt;
    }
    part.bytes = from.subspan(control_part::header_size);
    return part;
}

control_sender::control_sender(ufx_uct_ep_h over, std::size_t max_bcopy)
    : over_(over), part_bytes_(max_bcopy - std::min(max_bcopy, control_part::header_size))
{
    pending_.func = &on_room;
    pending_.self = this;
}

void control_sender::send(const control_part &head, std::span<const std::uint8_t> frame)
{
    if (part_bytes_ == 0) {
        return;
    }
    const std::size_t count = (frame.size() + part_bytes_ - 1) / part_bytes_;
    if (count > UINT16_MAX || parts_.size() + count > max_waiting) {
        return; // it is resent
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto bytes = frame.subspan(i * part_bytes_)
                               .first(std::min(part_bytes_, frame.size() - i * part_bytes_));
        std::vector<std::uint8_t> part(control_part::header_size + bytes.size());
        ucs::byte_writer w(part.data(), part.size());
        w.le64(head.from);
        w.le16(head.rail);
        w.le16(head.frame);
        w.le16(static_cast<std::uint16_t>(i));
        w.le16(static_cast<std::uint16_t>(count));
        w.bytes(bytes.data(), bytes.size());
        parts_.push_back(std::move(part));
    }
    // BUSY: there has come room meanwhile.
    ufx_status_t queued = UFX_ERR_BUSY;
    for (unsigned i = 0; i < max_attempts && !in_queue_ && queued == UFX_ERR_BUSY; ++i) {
        if (post() == UFX_OK) {
            return;
        }
        queued = ufx_uct_ep_pending_add(over_, &pending_);
        in_queue_ = queued == UFX_OK;
    }
}

ufx_status_t control_sender::post()
{
    const auto pack = [](void *to, void *arg) noexcept -> std::size_t {
        const auto &from = *static_cast<const std::vector<std::uint8_t> *>(arg);
        std::memcpy(to, from.data(), from.size());
        return from.size();
    };
    while (!parts_.empty()) {
        const ssize_t sent = ufx_uct_ep_am_bcopy(over_, uct_am_control, pack, &parts_.front(), 0);
        if (sent == UFX_ERR_NO_RESOURCE) {
            return UFX_ERR_NO_RESOURCE;
        }
        if (sent < 0) {
            parts_.clear(); // the lane has failed
            break;
        }
        parts_.pop_front();
    }
    return UFX_OK;
}

ufx_status_t control_sender::on_room(ufx_uct_pending_req_t *pending) noexcept
{
    control_sender &self = *static_cast<request *>(pending)->self;
    const ufx_status_t status = self.post();
    self.in_queue_ = status != UFX_OK;
    return status;
}

std::span<const std::uint8_t> control_receiver::take(const control_part &part)
{
    if (part.index == 0) {
        frame_.clear();
        number_ = part.frame;
        next_ = 0;
    }
    if (part.frame != number_ || part.index != next_ ||
        frame_.size() + part.bytes.size() > core::max_control_bytes) {
        next_ = UINT16_MAX; // until another frame begins
        return {};
    }
    frame_.insert(frame_.end(), part.bytes.begin(), part.bytes.end());
    ++next_;
    return next_ == part.count ? std::span<const std::uint8_t>(frame_)
                               : std::span<const std::uint8_t>();
}

} // namespace ufx::ucp
