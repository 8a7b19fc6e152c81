// SPDX-License-Identifier: BSD-3-Clause
// shim_process: this process as a part of a fabric: its slot, its engine, its helper thread and the
// devices that it has opened. It comes to life with the first device.
#ifndef UFX_SWHCA_SHIM_PROCESS_H
#define UFX_SWHCA_SHIM_PROCESS_H

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace ufx::swhca::shim {

enum class engine_kind : uint8_t { HOOK, TRAP, THREAD, STEP };

// Takes descriptor `number` for a device; false (and errno) if the fabric cannot be joined.
[[nodiscard]] bool open_device(int number, uint32_t hca);

// Whether the descriptor is a device's; cheap if there are none.
[[nodiscard]] bool is_device(int number) noexcept;

// A command; the result and errno of write().
[[nodiscard]] ssize_t device_write(int number, const void *data, size_t size);

// A mapping of a doorbell page; MAP_FAILED and errno if it is none.
[[nodiscard]] void *device_mmap(size_t length, uint64_t offset);

// Before the descriptor is closed: lets go of the device or the channel that it is.
void note_close(int number) noexcept;
void note_close_range(unsigned first, unsigned last) noexcept;

// The program has done something that may have posted work. For the hook.
void poke() noexcept;

// Of the faults with a probability, of this fabric or of the one that is joined later.
void seed_faults(uint64_t seed) noexcept;

// A doorbell was rung on a page that is trapped.
void doorbell() noexcept;

// Does what is due until `by_ns` from now, and then it is that time. Returns in how many
// nanoseconds the next thing is due, or UINT64_MAX. Of an engine that is stepped.
uint64_t step(uint64_t by_ns) noexcept;

} // namespace ufx::swhca::shim

#endif
