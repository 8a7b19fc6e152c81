// SPDX-License-Identifier: BSD-3-Clause
// killer: a process that dies at one of its stores to the image of a fabric.
#ifndef UFX_TEST_SWHCA_KILLER_H
#define UFX_TEST_SWHCA_KILLER_H

#include "swhca/fabric/image.h"

#include <cstdint>
#include <functional>

namespace ufx::test {

inline constexpr uint64_t unharmed = UINT64_MAX;

// Runs `work` and kills this process before its store number `stores` to the image; returns how
// many there were if there were fewer.
uint64_t die_within(swhca::image &shared, uint64_t stores, const std::function<void()> &work);

// How many of `all` stores a test tries: UFX_SWHCA_KILLS says it. Each store takes two signals, so
// that the usual number is small.
[[nodiscard]] uint64_t kills_of(uint64_t all);

} // namespace ufx::test

#endif
