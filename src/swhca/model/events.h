// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous events and completion events: bytes in the pipes that programs read.
#ifndef UFX_SWHCA_MODEL_EVENTS_H
#define UFX_SWHCA_MODEL_EVENTS_H

#include "core.h"

#include <cstddef>
#include <cstdint>

namespace ufx::swhca {

// Each counts the event on its object, since a destroy command answers how many there were.
// `event` is an enum ibv_event_type.
void raise_qp_event(core &world, qp &one, uint32_t event) noexcept;
void raise_cq_event(core &world, cq &one, uint32_t event) noexcept;
void raise_srq_event(core &world, srq &one, uint32_t event) noexcept;

// What a destroy command reports of events of which `unread` were never read: libibverbs waits
// until as many are acknowledged, so that of what is in doubt those are taken that are.
[[nodiscard]] uint32_t events_reported(const event_count &of, uint32_t unread,
                                       uint32_t acknowledged) noexcept;

// To every open of the device: of its port, or of the device itself.
void raise_device_event(core &world, uint32_t hca, uint32_t event) noexcept;

// Into the pipe of a completion channel.
void raise_completion_event(core &world, cq &one) noexcept;

// What others could not write into the pipes of this process is kept, and written by itself.
void write_late_events(core &world) noexcept;
void forget_late_events(core &world, uint32_t process) noexcept;

} // namespace ufx::swhca

#endif
