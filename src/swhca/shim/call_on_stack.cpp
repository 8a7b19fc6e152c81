// SPDX-License-Identifier: BSD-3-Clause
// The switch of stacks. A fault inside `work` must not get the alternate stack again, on which the
// handler's frame lies: the kernel sees only that the stack pointer is elsewhere.
#include "call_on_stack.h"

#include <csignal>
#include <cstdint>

extern "C" {
__attribute__((visibility("hidden"))) void ufx_swhca_call_on_stack(void (*work)(void *),
                                                                   void *argument, uintptr_t top);
}

__asm__(R"(
    .pushsection .text
    .p2align 4
    .globl ufx_swhca_call_on_stack
    .hidden ufx_swhca_call_on_stack
    .type ufx_swhca_call_on_stack, @function
ufx_swhca_call_on_stack:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    mov %rdx, %rsp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size ufx_swhca_call_on_stack, .-ufx_swhca_call_on_stack
    .popsection
)");

namespace ufx::swhca::shim {

namespace {

constexpr uintptr_t red_zone = 128; // below the stack pointer, in use (System V ABI, 3.2.2)
constexpr int autodisarm = static_cast<int>(1u << 31); // SS_AUTODISARM: the kernel does it

struct job {
    void (*work)();
    bool disarm;
};

bool contains(const stack_t &one, uintptr_t address) noexcept
{
    auto start = reinterpret_cast<uintptr_t>(one.ss_sp);
    return address >= start && address - start < one.ss_size;
}

void run_job(void *argument) noexcept
{
    const job &one = *static_cast<const job *>(argument);
    stack_t before{};
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    bool disarmed = one.disarm && ::sigaltstack(&none, &before) == 0;
    one.work();
    if (disarmed) {
        (void)::sigaltstack(&before, nullptr);
    }
}

} // namespace

void call_on_interrupted_stack(const ucontext_t &where, void (*work)()) noexcept
{
    auto interrupted = static_cast<uintptr_t>(where.uc_mcontext.gregs[REG_RSP]);
    bool here = contains(where.uc_stack, reinterpret_cast<uintptr_t>(&where));
    if (!here || contains(where.uc_stack, interrupted)) {
        work(); // there is no other stack
        return;
    }
    job one{work, (where.uc_stack.ss_flags & autodisarm) == 0};
    ufx_swhca_call_on_stack(run_job, &one, (interrupted - red_zone) & ~uintptr_t{15});
}

} // namespace ufx::swhca::shim
