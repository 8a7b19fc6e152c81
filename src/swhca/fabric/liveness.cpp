// SPDX-License-Identifier: BSD-3-Clause
// By the word of the mutex (futex(2), robust futexes) and /proc/TID/stat. Nothing is allocated,
// because a handler of a signal may ask.
#include "liveness.h"

#include "ucs/fd.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

// The fields of proc(5) that are asked for.
struct thread_status {
    char state = 0;
    long threads = 0; // of its process
};

thread_status status_of(int32_t thread) noexcept
{
    std::array<char, 64> path;
    std::snprintf(path.data(), path.size(), "/proc/%d/stat", thread);
    ucs::fd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text{};
    thread_status found;
    if (file && ::read(file.get(), text.data(), text.size() - 1) > 0) {
        // Behind the name, which may have blanks and brackets.
        const char *name_end = std::strrchr(text.data(), ')');
        if (name_end != nullptr) {
            (void)std::sscanf(
                name_end + 1,
                " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                &found.state, &found.threads);
        }
    }
    return found;
}

} // namespace

int32_t holder_of(const pthread_mutex_t &mutex) noexcept
{
    // Acquire: who sees the mark of the dead sees what they wrote.
    auto word = static_cast<uint32_t>(__atomic_load_n(&mutex.__data.__lock, __ATOMIC_ACQUIRE));
    return (word & FUTEX_OWNER_DIED) != 0 ? 0 : static_cast<int32_t>(word & FUTEX_TID_MASK);
}

bool lives(const process_slot &slot) noexcept
{
    return slot.in_use && slot.owner != 0 && holder_of(slot.alive) == slot.owner;
}

uint64_t own_pid_namespace() noexcept
{
    struct stat info {};
    return ::stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

bool is_last_thread() noexcept
{
    thread_status first = status_of(static_cast<int32_t>(::getpid()));
    return first.state == 'Z' && first.threads == 2;
}

bool let_stopped_go_on(int32_t thread) noexcept
{
    return status_of(thread).state == 'T' && ::kill(thread, SIGCONT) == 0;
}

} // namespace ufx::swhca
