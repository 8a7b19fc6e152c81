// SPDX-License-Identifier: BSD-3-Clause
// The link between devices: a packet is delivered at once where nothing forbids it; rate, latency
// and faults make it travel through the image, with a copy of its data.
#ifndef UFX_SWHCA_ENGINE_LINK_H
#define UFX_SWHCA_ENGINE_LINK_H

#include "swhca/model/core.h"
#include "swhca/model/payload.h"

#include <cstdint>

namespace ufx::swhca {

inline constexpr uint32_t no_hca = UINT32_MAX;

// The device that answers at a GID or LID, whatever the state of its port; no_hca if none does.
[[nodiscard]] uint32_t route(const image &shared, const path &to) noexcept;

// False if the data could not be read, which is the sender's fault. A packet that is lost is none.
bool transmit(core &world, packet &what, const payload &data) noexcept;

// Whether `sender` may send to `dst_hca` now. If not, it is woken when it may.
[[nodiscard]] bool link_has_room(core &world, qp &sender) noexcept;

// Whether a run of packets to that QP may travel as one: nobody could tell the difference.
[[nodiscard]] bool link_is_direct(core &world, uint32_t src_hca, uint32_t dst_hca,
                                  uint32_t dst_qpn) noexcept;

// Delivers what is due; returns when the next is due, or UINT64_MAX.
uint64_t deliver_due(core &world) noexcept;

// Lets packets go that a HOLD rule keeps; `hca` -1 for those of every device.
void release_held_packets(core &world, int hca) noexcept;

// The same for those to one QP number.
void release_packets_to(core &world, uint32_t hca, uint32_t qpn) noexcept;

[[nodiscard]] qp *find_qp(image &shared, uint32_t hca, uint32_t qpn) noexcept;

} // namespace ufx::swhca

#endif
