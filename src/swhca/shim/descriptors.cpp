// SPDX-License-Identifier: BSD-3-Clause
// One byte a number, and how far the table is in use.
#include "descriptors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

namespace ufx::swhca::shim {

namespace {

constinit std::array<std::atomic<descriptor>, max_descriptors> kinds{};
constinit std::atomic<int> used{0}; // one past the highest number that was ever ours

} // namespace

descriptor kind_of(int number) noexcept
{
    // Acquire: pairs with set_kind(), so that what the number stands for is seen with it.
    return number < 0 || number >= max_descriptors
               ? descriptor::NONE
               : kinds[static_cast<size_t>(number)].load(std::memory_order_acquire);
}

void set_kind(int number, descriptor kind) noexcept
{
    if (number < 0 || number >= max_descriptors) {
        return;
    }
    kinds[static_cast<size_t>(number)].store(kind, std::memory_order_release);
    int before = used.load(std::memory_order_relaxed);
    while (before <= number &&
           !used.compare_exchange_weak(before, number + 1, std::memory_order_release)) {
    }
}

int next_of_ours(int first, int last) noexcept
{
    int end = std::min(last, used.load(std::memory_order_acquire) - 1);
    for (int number = std::max(first, 0); number <= end; number++) {
        if (kind_of(number) != descriptor::NONE) {
            return number;
        }
    }
    return -1;
}

void inherit_descriptors() noexcept
{
    for (int number = next_of_ours(0, max_descriptors); number >= 0;
         number = next_of_ours(number + 1, max_descriptors)) {
        set_kind(number,
                 kind_of(number) == descriptor::CHANNEL ? descriptor::NONE : descriptor::INHERITED);
    }
}

} // namespace ufx::swhca::shim
