// SPDX-License-Identifier: BSD-3-Clause
// Only stores to the image make a difference to those who live. The image is read-only: each store
// faults, is counted, and is carried out by a single step.
#include "killer.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
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
};

killer the_killer;

void on_store(int, siginfo_t *info, void *where)
{
    auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    auto first = reinterpret_cast<uintptr_t>(the_killer.shared);
    if (at < first || at - first >= sizeof(image)) {
        ::_exit(3);
    }
    the_killer.stores++;
    the_killer.stores_left--;
    if (the_killer.stores_left == 0) {
        the_killer.protect(PROT_READ | PROT_WRITE); // the kernel marks the lock
        ::kill(::getpid(), SIGKILL);
    }
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
    return the_killer.stores;
}

uint64_t kills_of(uint64_t all)
{
    constexpr uint64_t usual = 30;
    const char *wanted = std::getenv("UFX_SWHCA_KILLS");
    uint64_t times = wanted == nullptr ? usual : std::strtoull(wanted, nullptr, 10);
    return std::min(all, times);
}

} // namespace ufx::test
