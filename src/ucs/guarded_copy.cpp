// SPDX-License-Identifier: BSD-3-Clause
// Copies by the kernel, within this process.
#include "guarded_copy.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ufx::ucs {

namespace {

using copy_call = ssize_t (*)(pid_t, const iovec *, unsigned long, const iovec *, unsigned long,
                              unsigned long) noexcept;

// `near` is accessed as by any system call, so that it may be memory of a device too; `own` is
// ordinary memory, as the call demands of another process's.
bool copy(copy_call call, const void *near, const void *own, size_t length, bool &offered) noexcept
{
    const iovec local{const_cast<void *>(near), length};
    const iovec remote{const_cast<void *>(own), length};
    const ssize_t done = call(::getpid(), &local, 1, &remote, 1, 0);
    offered = done >= 0 || errno == EFAULT;
    return done >= 0 && static_cast<size_t>(done) == length;
}

} // namespace

bool guarded_write(void *theirs, const void *own, size_t length) noexcept
{
    bool offered = true;
    const bool done = copy(&process_vm_readv, theirs, own, length, offered);
    if (!offered) {
        std::memcpy(theirs, own, length);
    }
    return done || !offered;
}

bool guarded_read(void *own, const void *theirs, size_t length) noexcept
{
    bool offered = true;
    const bool done = copy(&process_vm_writev, theirs, own, length, offered);
    if (!offered) {
        std::memcpy(own, theirs, length);
    }
    return done || !offered;
}

} // namespace ufx::ucs
