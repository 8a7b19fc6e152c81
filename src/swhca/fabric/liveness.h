// SPDX-License-Identifier: BSD-3-Clause
// Who lives and who is stopped, as the kernel has it. The word of a robust mutex has the thread
// that holds it, and a mark as soon as that thread has ended, which is before its number, or that
// of its process, is given to another one.
#ifndef UFX_SWHCA_FABRIC_LIVENESS_H
#define UFX_SWHCA_FABRIC_LIVENESS_H

#include "image.h"

#include <cstdint>
#include <pthread.h>

namespace ufx::swhca {

// The thread that holds the mutex; 0 if nobody does, or not any more.
[[nodiscard]] int32_t holder_of(const pthread_mutex_t &mutex) noexcept;

// Whether the process of the slot lives, so that its pid is its own.
[[nodiscard]] bool lives(const process_slot &slot) noexcept;

// That of this process; 0 if it cannot be found out.
[[nodiscard]] uint64_t own_pid_namespace() noexcept;

// Whether the first thread of this process has ended, and the caller is the only one that is left.
[[nodiscard]] bool is_last_thread() noexcept;

// If the thread is stopped (SIGSTOP), lets its process go on; false if it is not stopped or may not
// be touched.
[[nodiscard]] bool let_stopped_go_on(int32_t thread) noexcept;

} // namespace ufx::swhca

#endif
