// SPDX-License-Identifier: BSD-3-Clause
// Interposed calls on descriptors, and pthread_spin_unlock, which libmlx5 calls after each post and
// each poll: the hook.
#include "next.h"
#include "process.h"
#include "stepped_sockets.h"
#include "trap.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace shim = ufx::swhca::shim;

constexpr unsigned long rdma_ioctl_type = 0x1b; // RDMA_IOCTL_MAGIC of <rdma/rdma_user_ioctl_cmds.h>

constinit shim::next_function<ssize_t (*)(int, const void *, size_t)> next_write("write");
constinit shim::next_function<int (*)(int)> next_close("close");
constinit shim::next_function<int (*)(int, int)> next_dup2("dup2");
constinit shim::next_function<int (*)(int, int, int)> next_dup3("dup3");
constinit shim::next_function<int (*)(unsigned, unsigned, int)> next_close_range("close_range");
constinit shim::next_function<void (*)(int)> next_closefrom("closefrom");
constinit shim::next_function<int (*)(FILE *)> next_fclose("fclose");
constinit shim::next_function<int (*)(pthread_spinlock_t *)>
    next_spin_unlock("pthread_spin_unlock");

void *plain_mmap(void *at, size_t length, int protection, int flags, int number,
                 long long offset) noexcept
{
    if ((flags & MAP_FIXED) != 0) {
        shim::forget_pages(at, length);
    }
    return reinterpret_cast<void *>(
        ::syscall(SYS_mmap, at, length, protection, flags, number, offset));
}

// dup2() and dup3() close the number that they give, unless they fail.
void note_replacement(int from, int to) noexcept
{
    if (from != to && ::fcntl(from, F_GETFD) >= 0) {
        shim::note_close(to);
    }
}

} // namespace

EXPORT ssize_t write(int number, const void *data, size_t size)
{
    return shim::is_device(number) ? shim::device_write(number, data, size)
                                   : next_write.get()(number, data, size);
}

// Without the ioctl interface, libibverbs writes commands.
EXPORT int ioctl(int number, unsigned long request, ...) noexcept
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if ((request >> 8 & 0xff) == rdma_ioctl_type && shim::is_device(number)) {
        errno = ENOTTY;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_ioctl, number, request, argument));
}

EXPORT void *mmap(void *at, size_t length, int protection, int flags, int number,
                  off_t offset) noexcept
{
    return shim::is_device(number) ? shim::device_mmap(length, static_cast<uint64_t>(offset))
                                   : plain_mmap(at, length, protection, flags, number, offset);
}

EXPORT void *mmap64(void *at, size_t length, int protection, int flags, int number,
                    off64_t offset) noexcept
{
    return shim::is_device(number) ? shim::device_mmap(length, static_cast<uint64_t>(offset))
                                   : plain_mmap(at, length, protection, flags, number, offset);
}

EXPORT int munmap(void *start, size_t length) noexcept
{
    shim::forget_pages(start, length);
    return static_cast<int>(::syscall(SYS_munmap, start, length));
}

EXPORT int close(int number)
{
    shim::note_close(number);
    shim::forget_stepped(number);
    return next_close.get()(number);
}

EXPORT int dup2(int from, int to) noexcept
{
    note_replacement(from, to);
    return next_dup2.get()(from, to);
}

EXPORT int dup3(int from, int to, int flags) noexcept
{
    note_replacement(from, to);
    return next_dup3.get()(from, to, flags);
}

EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept
{
    if ((static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) == 0) {
        shim::note_close_range(first, last);
    }
    return next_close_range.get()(first, last, flags);
}

EXPORT void closefrom(int first) noexcept
{
    shim::note_close_range(static_cast<unsigned>(std::max(first, 0)), ~0u);
    next_closefrom.get()(first);
}

EXPORT int fclose(FILE *stream)
{
    shim::note_close(::fileno(stream));
    return next_fclose.get()(stream);
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock) noexcept
{
    int status = next_spin_unlock.get()(lock);
    shim::poke();
    return status;
}
