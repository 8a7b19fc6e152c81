// SPDX-License-Identifier: BSD-3-Clause
// The handler of SIGSEGV and SIGBUS: a store to a trapped page is a doorbell, a fault in a copy of
// the engine ends that copy, and any other is the program's own.
#include "trap.h"

#include "call_on_stack.h"
#include "process.h"
#include "signals.h"
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

namespace ufx::swhca::shim {

namespace {

constexpr size_t max_trapped = 1024;
constexpr size_t page_bytes = 4096;
constexpr size_t longest_instruction = 15;

constexpr uintptr_t never_used = 0; // nor is any place behind it
constexpr uintptr_t given_back = 1;

struct trapped_page {
    std::atomic<uintptr_t> start; // release by the mapper, acquire by the handler
};

constinit std::array<trapped_page, max_trapped> pages{};
bool is_trapped(uintptr_t address) noexcept
{
    uintptr_t page = address & ~(page_bytes - 1);
    for (const trapped_page &each : pages) {
        uintptr_t start = each.start.load(std::memory_order_acquire);
        if (start == page) {
            return true;
        }
        if (start == never_used) {
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

void handle(int number, siginfo_t *info, void *ucontext)
{
    int saved = errno;
    if (leave_guarded_copy(ucontext)) {
        return;
    }
    auto &where = *static_cast<ucontext_t *>(ucontext);
    auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (number == SIGSEGV && info->si_code == SEGV_ACCERR && is_trapped(address)) {
        skip_store(where, address);
        call_on_interrupted_stack(where, doorbell);
    } else {
        pass_on(number, info, ucontext);
    }
    errno = saved;
}

} // namespace

void install_trap() noexcept
{
    take_fault_signals(handle);
}

void *map_trapped_page(size_t length) noexcept
{
    void *page = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return page;
    }
    for (trapped_page &each : pages) {
        uintptr_t now = each.start.load(std::memory_order_relaxed);
        if ((now == never_used || now == given_back) &&
            each.start.compare_exchange_strong(now, reinterpret_cast<uintptr_t>(page),
                                               std::memory_order_release)) {
            return page;
        }
    }
    ::munmap(page, length);
    errno = ENOMEM;
    return MAP_FAILED;
}

void forget_pages(void *start, size_t length) noexcept
{
    auto first = reinterpret_cast<uintptr_t>(start);
    for (trapped_page &each : pages) {
        uintptr_t page = each.start.load(std::memory_order_acquire);
        if (page == never_used) {
            return;
        }
        if (page != given_back && page >= first && page - first < length) {
            each.start.store(given_back, std::memory_order_release);
        }
    }
}

} // namespace ufx::swhca::shim
