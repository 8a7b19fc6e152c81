// SPDX-License-Identifier: BSD-3-Clause
// Trapped doorbell pages: read-only pages, and a handler of SIGSEGV that takes a store to one of
// them for a doorbell, skips it and runs the devices.
#ifndef UFX_SWHCA_SHIM_TRAP_H
#define UFX_SWHCA_SHIM_TRAP_H

#include <cstddef>

namespace ufx::swhca::shim {

// Installs the handler; it also ends copies of the engine that fault.
void install_trap() noexcept;

// A page whose stores are doorbells; MAP_FAILED if there is no memory for it.
[[nodiscard]] void *map_trapped_page(size_t length) noexcept;

// Before something else may be mapped at [start, start + length).
void forget_pages(void *start, size_t length) noexcept;

} // namespace ufx::swhca::shim

#endif
