// SPDX-License-Identifier: BSD-3-Clause
// The handler of SIGSEGV, and the interposed sigaction() and signal() that keep it in front: what a
// program installs is called for every fault that is its own.
#include "trap.h"

#include "next.h"
#include "process.h"
#include "store_decoder.h"

#include "swhca/engine/guarded_copy.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace ufx::swhca::shim {

namespace {

constexpr size_t max_trapped = 1024;
constexpr size_t page_bytes = 4096;
constexpr size_t longest_instruction = 15;

struct trapped_page {
    std::atomic<uintptr_t> start; // 0: free; release by the mapper, acquire by the handler
};

constinit std::array<trapped_page, max_trapped> pages{};
constinit std::atomic<bool> installed{false};
constinit struct sigaction program_action {
}; // of SIGSEGV; default at first

constinit next_function<int (*)(int, const struct sigaction *, struct sigaction *)>
    next_sigaction("sigaction");

bool is_trapped(uintptr_t address) noexcept
{
    uintptr_t page = address & ~(page_bytes - 1);
    for (const trapped_page &each : pages) {
        uintptr_t start = each.start.load(std::memory_order_acquire);
        if (start == page) {
            return true;
        }
        if (start == 0) {
            return false;
        }
    }
    return false;
}

// Skips the store. A page that is stored to in a way that is not known traps no longer; the helper
// thread then finds its doorbells.
void skip_store(ucontext_t &where, uintptr_t address) noexcept
{
    auto &registers = where.uc_mcontext.gregs;
    const auto *code = reinterpret_cast<const uint8_t *>(registers[REG_RIP]);
    store_instruction one = decode_store({code, longest_instruction});
    if (one.length == 0) {
        constexpr char text[] =
            "ufx_swhca: a doorbell is rung by an instruction that is not known; "
            "expect latency\n";
        (void)!::write(STDERR_FILENO, text, sizeof(text) - 1);
        (void)::mprotect(reinterpret_cast<void *>(address & ~(page_bytes - 1)), page_bytes,
                         PROT_READ | PROT_WRITE);
        return;
    }
    if (one.string_bytes != 0) {
        long long steps = one.repeated ? registers[REG_RCX] : 1;
        registers[REG_RDI] += steps * one.string_bytes;
        registers[REG_RSI] += one.is_movs ? steps * one.string_bytes : 0;
        registers[REG_RCX] = one.repeated ? 0 : registers[REG_RCX];
    }
    registers[REG_RIP] += static_cast<long long>(one.length);
}

void pass_on(int number, siginfo_t *info, void *where) noexcept
{
    if ((program_action.sa_flags & SA_SIGINFO) != 0) {
        program_action.sa_sigaction(number, info, where);
    } else if (program_action.sa_handler != SIG_DFL && program_action.sa_handler != SIG_IGN) {
        program_action.sa_handler(number);
    } else {
        struct sigaction plain {};
        plain.sa_handler = SIG_DFL;
        (void)next_sigaction.get()(number, &plain, nullptr); // the store faults again, and kills
    }
}

void handle(int number, siginfo_t *info, void *where)
{
    int saved = errno;
    if (leave_guarded_copy(where)) {
        return;
    }
    auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (number == SIGSEGV && is_trapped(address)) {
        skip_store(*static_cast<ucontext_t *>(where), address);
        doorbell();
        errno = saved;
        return;
    }
    pass_on(number, info, where);
    errno = saved;
}

int set_action(int number, const struct sigaction *now, struct sigaction *before)
{
    if (number != SIGSEGV || !installed.load(std::memory_order_acquire)) {
        return next_sigaction.get()(number, now, before);
    }
    if (before != nullptr) {
        *before = program_action;
    }
    if (now != nullptr) {
        program_action = *now;
    }
    return 0;
}

} // namespace

void install_trap() noexcept
{
    if (installed.load(std::memory_order_acquire)) {
        return;
    }
    struct sigaction ours {};
    ours.sa_sigaction = handle;
    // NODEFER: a copy that faults leaves by a jump, and the signal must not stay blocked.
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    (void)next_sigaction.get()(SIGSEGV, &ours, &program_action);
    installed.store(true, std::memory_order_release);
}

void *map_trapped_page(size_t length) noexcept
{
    void *page = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return page;
    }
    for (trapped_page &each : pages) {
        uintptr_t free = 0;
        if (each.start.load(std::memory_order_relaxed) == reinterpret_cast<uintptr_t>(page) ||
            each.start.compare_exchange_strong(free, reinterpret_cast<uintptr_t>(page),
                                               std::memory_order_release)) {
            return page;
        }
    }
    ::munmap(page, length);
    errno = ENOMEM;
    return MAP_FAILED;
}

} // namespace ufx::swhca::shim

EXPORT int sigaction(int number, const struct sigaction *now, struct sigaction *before) noexcept
{
    return ufx::swhca::shim::set_action(number, now, before);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept
{
    struct sigaction now {};
    struct sigaction before {};
    now.sa_handler = handler;
    now.sa_flags = SA_RESTART;
    return sigaction(number, &now, &before) == 0 ? before.sa_handler : SIG_ERR;
}
