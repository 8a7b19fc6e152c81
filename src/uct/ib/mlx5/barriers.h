// SPDX-License-Identifier: BSD-3-Clause
// Order of stores that a device reads: to its queues in memory, and to its doorbells.
#ifndef UFX_UCT_IB_MLX5_BARRIERS_H
#define UFX_UCT_IB_MLX5_BARRIERS_H

#include <atomic>
#include <cstdint>

namespace ufx::uct::ib::mlx5 {

// Stores to memory before it are seen by the device before those after it.
inline void before_device_reads() noexcept
{
    std::atomic_thread_fence(std::memory_order_release);
#if !defined(__x86_64__)
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Write-combined stores before it leave the processor's buffers now, and in order.
inline void flush_write_combining() noexcept
{
#if defined(__x86_64__)
    asm volatile("sfence" ::: "memory");
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// The device has written what is read after it.
inline void after_device_wrote() noexcept
{
    std::atomic_thread_fence(std::memory_order_acquire);
}

inline void store_doorbell(volatile uint64_t *doorbell, uint64_t value) noexcept
{
    *doorbell = value;
}

} // namespace ufx::uct::ib::mlx5

#endif
