// SPDX-License-Identifier: BSD-3-Clause
// Joining a fabric, leaving it, and clearing away what processes left that were killed.
#ifndef UFX_SWHCA_ENGINE_MEMBERSHIP_H
#define UFX_SWHCA_ENGINE_MEMBERSHIP_H

#include "swhca/fabric/image.h"

#include <cstdint>

namespace ufx::swhca {

// Takes a slot; no_index if all are taken. The calling thread holds the slot's `alive` from now on:
// when it ends, with or without its process, the others take the process for dead.
[[nodiscard]] uint32_t join_fabric(image &shared, uint64_t now_ns);

// Destroys what this process made and gives the slot back. By the thread that joined, or at the end
// of the process.
void leave_fabric(image &shared, uint32_t self, uint64_t now_ns);

// A process whose memory the kernel kept from `self` when it tried; 0 if there is none. It may have
// ended since.
[[nodiscard]] int32_t closed_peer(const image &shared, uint32_t self) noexcept;

// Destroys what dead processes made; returns how many there were. `self` may be no_index.
uint32_t reap_dead(image &shared, uint32_t self, uint64_t now_ns);

} // namespace ufx::swhca

#endif
