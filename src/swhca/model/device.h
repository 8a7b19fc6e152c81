// SPDX-License-Identifier: BSD-3-Clause
// Devices and their ports: state, tables, and what happens to them with the events that tell of it.
#ifndef UFX_SWHCA_MODEL_DEVICE_H
#define UFX_SWHCA_MODEL_DEVICE_H

#include "core.h"

#include <cstdint>

namespace ufx::swhca {

// Each raises its event only if `tell`.
void set_port_state(core &world, uint32_t hca, bool up, bool tell) noexcept;
void set_lid(core &world, uint32_t hca, uint16_t lid, bool tell) noexcept;
void set_pkey(core &world, uint32_t hca, uint32_t index, uint16_t value, bool tell) noexcept;
// `value` all zero takes the entry away.
void set_gid(core &world, uint32_t hca, uint32_t index, const gid &value, bool tell) noexcept;

// From now on every command fails with EIO, every QP is in ERR, and no completion is written.
void fail_device(core &world, uint32_t hca) noexcept;

// A dead device can be opened again; what was opened before stays dead.
void reset_device(core &world, uint32_t hca) noexcept;

// Kills every process that has the device open, at once and without a word, the caller's last.
void kill_users(core &world, uint32_t hca) noexcept;

// An event for no reason: of a QP (`qpn` 0: of each), its CQs or SRQ, or of the port or device.
void raise_injected_event(core &world, uint32_t hca, uint32_t qpn, uint32_t event) noexcept;

} // namespace ufx::swhca

#endif
