// SPDX-License-Identifier: BSD-3-Clause
// What happens before what by the kernel's word alone, told to ThreadSanitizer in its own builds:
// an event of an object comes after the object was created, though two threads share nothing but a
// device.
#ifndef UFX_UCT_IB_COMMON_KERNEL_ORDER_H
#define UFX_UCT_IB_COMMON_KERNEL_ORDER_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UFX_TELLS_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define UFX_TELLS_TSAN 1
#endif
#ifdef UFX_TELLS_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace ufx::uct::ib {

// An object of that device has been created.
inline void object_made([[maybe_unused]] void *context) noexcept
{
#ifdef UFX_TELLS_TSAN
    __tsan_release(context);
#endif
}

// An event of that device was read: what it is about had been created before.
inline void event_read([[maybe_unused]] void *context) noexcept
{
#ifdef UFX_TELLS_TSAN
    __tsan_acquire(context);
#endif
}

} // namespace ufx::uct::ib

#endif
