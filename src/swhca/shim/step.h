// SPDX-License-Identifier: BSD-3-Clause
// What a program that steps its fabric finds by dlsym(): under `ufx_swhca run --engine step`.
#ifndef UFX_SWHCA_SHIM_STEP_H
#define UFX_SWHCA_SHIM_STEP_H

#include <cstdint>

extern "C" {

// Does what is due until `by_ns` from now, each thing at its time, and then it is that time.
// Returns in how many nanoseconds the next thing is due; UINT64_MAX: nothing is.
__attribute__((visibility("default"))) uint64_t ufx_swhca_step(uint64_t by_ns) noexcept;

// Bytes that were sent by TCP inside the process since the last call.
__attribute__((visibility("default"))) uint64_t ufx_swhca_sent() noexcept;

// Of faults with a probability, and of getrandom().
__attribute__((visibility("default"))) void ufx_swhca_seed(uint64_t seed) noexcept;
}

#endif
