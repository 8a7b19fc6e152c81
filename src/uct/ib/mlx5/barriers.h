// SPDX-License-Identifier: BSD-3-Clause
// Order of stores that a device reads: to its queues in memory, and to its doorbells.
#ifndef UFX_UCT_IB_MLX5_BARRIERS_H
#define UFX_UCT_IB_MLX5_BARRIERS_H

#include <cstdint>

namespace ufx::uct::ib::mlx5 {

// x86 keeps stores, and loads, to ordinary memory in order, so only the compiler has to be told.
// Elsewhere a device is no thread: the barrier reaches the whole system.
inline void order_memory() noexcept
{
#if defined(__x86_64__)
    asm volatile("" ::: "memory");
#elif defined(__aarch64__)
    asm volatile("dmb osh" ::: "memory");
#else
#error "no device barriers for this processor"
#endif
}

// Stores to memory before it are seen by the device before those after it.
inline void before_device_reads() noexcept
{
    order_memory();
}

// Write-combined stores before it leave the processor's buffers now, and in order.
inline void flush_write_combining() noexcept
{
#if defined(__x86_64__)
    asm volatile("sfence" ::: "memory");
#else
    asm volatile("dsb st" ::: "memory");
#endif
}

// The device has written what is read after it.
inline void after_device_wrote() noexcept
{
    order_memory();
}

inline void store_doorbell(volatile uint64_t *doorbell, uint64_t value) noexcept
{
    *doorbell = value;
}

} // namespace ufx::uct::ib::mlx5

#endif
