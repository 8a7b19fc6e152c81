// SPDX-License-Identifier: BSD-3-Clause
// Random 64-bit identities, drawn again after fork().
#ifndef UFX_UCS_UUID_H
#define UFX_UCS_UUID_H

#include <cstdint>
#include <sys/types.h>

namespace ufx::ucs {

// From getrandom(); never 0.
[[nodiscard]] uint64_t random_uuid() noexcept;

// An identity of this process; a child made by fork() gets another one. Single-threaded.
class process_uuid {
public:
    process_uuid() noexcept;

    // Costs one getpid().
    [[nodiscard]] uint64_t get() noexcept;

    // Whether the process forked since the last get().
    [[nodiscard]] bool stale() const noexcept;

private:
    uint64_t value_;
    pid_t pid_;
};

} // namespace ufx::ucs

#endif
