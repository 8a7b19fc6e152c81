// SPDX-License-Identifier: BSD-3-Clause
// Only stores to the image make a difference to those who live. The image is read-only: each store
// faults, is counted, and is carried out by a single step.
#include "killer.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

namespace ufx::test {

namespace {

using swhca::image;

constexpr greg_t trap_flag = 0x100; // of EFLAGS: a trap after one instruction
constexpr uintptr_t page_bytes = 4096;

struct killer {
    image *shared = nullptr;
    uint64_t stores_left = 0;
    uint64_t stores = 0;

    void protect(int protection) const { (void)::mprotect(shared, sizeof(image), protection); }

    [[nodiscard]] bool guards(uintptr_t at) const
    {
        auto first = reinterpret_cast<uintptr_t>(shared);
        return shared != nullptr && at >= first && at - first < sizeof(image);
    }

    // Does not return if this is the store before which the process dies.
    void count()
    {
        stores++;
        stores_left--;
        if (stores_left == 0) {
            protect(PROT_READ | PROT_WRITE); // the kernel marks the lock
            ::kill(::getpid(), SIGKILL);
        }
    }
};

killer the_killer;

void on_store(int, siginfo_t *info, void *where)
{
    auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    if (!the_killer.guards(at)) {
        ::_exit(3);
    }
    the_killer.count();
    auto *page = reinterpret_cast<void *>(at & ~(page_bytes - 1));
    (void)::mprotect(page, 2 * page_bytes, PROT_READ | PROT_WRITE);
    static_cast<ucontext_t *>(where)->uc_mcontext.gregs[REG_EFL] |= trap_flag;
}

void after_store(int, siginfo_t *, void *where)
{
    auto &flags = static_cast<ucontext_t *>(where)->uc_mcontext.gregs[REG_EFL];
    flags &= ~trap_flag;
    the_killer.protect(PROT_READ);
}

} // namespace

uint64_t die_within(image &shared, uint64_t stores, const std::function<void()> &work)
{
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_store;
    ::sigaction(SIGSEGV, &action, nullptr);
    action.sa_sigaction = after_store;
    ::sigaction(SIGTRAP, &action, nullptr);
    the_killer.shared = &shared;
    the_killer.stores_left = stores;
    the_killer.protect(PROT_READ);
    work();
    the_killer.protect(PROT_READ | PROT_WRITE);
    the_killer.shared = nullptr;
    return the_killer.stores;
}

uint64_t kills_of(uint64_t all)
{
    constexpr uint64_t usual = 15;
    const char *wanted = std::getenv("UFX_SWHCA_KILLS");
    uint64_t times = wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
    return std::min(all, times);
}

} // namespace ufx::test

// The kernel's copies into the image do not fault but fail; each is a store too.
extern "C" ssize_t process_vm_readv(pid_t pid, const iovec *to, unsigned long to_count,
                                    const iovec *from, unsigned long from_count,
                                    unsigned long flags) noexcept
{
    using ufx::test::the_killer;
    bool guarded = to_count > 0 && the_killer.guards(reinterpret_cast<uintptr_t>(to->iov_base));
    if (guarded) {
        the_killer.count();
        the_killer.protect(PROT_READ | PROT_WRITE);
    }
    ssize_t copied = ::syscall(SYS_process_vm_readv, pid, to, to_count, from, from_count, flags);
    if (guarded) {
        the_killer.protect(PROT_READ);
    }
    return copied;
}
