// SPDX-License-Identifier: BSD-3-Clause
// The copy is a few instructions whose addresses are known, so that a handler sees by the program
// counter alone that one of them has faulted: nothing is kept that a jump out of a handler of the
// program could leave behind, and no sanitizer takes an address that a program wrote for a mistake
// of ours.
#include "guarded_copy.h"

#include <cstdint>
#include <ucontext.h>

extern "C" {
__attribute__((visibility("hidden"))) int ufx_swhca_guarded_copy(void *to, const void *from,
                                                                 size_t size);
// A label, not data: the end of what may fault, and where it goes on if it has.
__attribute__((visibility("hidden"))) extern const char ufx_swhca_guarded_end[];
}

// The stores of `rep movsb` may become visible in any order, but all before a later store; so the
// last byte is a store of its own.
__asm__(R"(
    .pushsection .text
    .p2align 4
    .globl ufx_swhca_guarded_copy
    .hidden ufx_swhca_guarded_copy
    .type ufx_swhca_guarded_copy, @function
ufx_swhca_guarded_copy:
    .cfi_startproc
    mov %edi, %eax
    or %esi, %eax
    cmp $4, %rdx
    je 4f
    cmp $8, %rdx
    je 8f
1:
    lea -1(%rdx), %rcx
    rep movsb
    movzbl (%rsi), %eax
    mov %al, (%rdi)
    mov $1, %eax
    ret
4:
    test $3, %al
    jnz 1b
    mov (%rsi), %eax
    mov %eax, (%rdi)
    mov $1, %eax
    ret
8:
    test $7, %al
    jnz 1b
    mov (%rsi), %rax
    mov %rax, (%rdi)
    mov $1, %eax
    ret
    .globl ufx_swhca_guarded_end
    .hidden ufx_swhca_guarded_end
ufx_swhca_guarded_end:
    xor %eax, %eax
    ret
    .cfi_endproc
    .size ufx_swhca_guarded_copy, .-ufx_swhca_guarded_copy
    .popsection
)");

namespace ufx::swhca {

bool guarded_copy(void *to, const void *from, size_t size) noexcept
{
    if (size == 0) {
        return true;
    }
    return to != nullptr && from != nullptr && ufx_swhca_guarded_copy(to, from, size) != 0;
}

bool leave_guarded_copy(void *ucontext) noexcept
{
    auto &at = static_cast<ucontext_t *>(ucontext)->uc_mcontext.gregs[REG_RIP];
    auto where = static_cast<uintptr_t>(at);
    if (where < reinterpret_cast<uintptr_t>(&ufx_swhca_guarded_copy) ||
        where >= reinterpret_cast<uintptr_t>(ufx_swhca_guarded_end)) {
        return false;
    }
    at = static_cast<greg_t>(reinterpret_cast<uintptr_t>(ufx_swhca_guarded_end));
    return true;
}

} // namespace ufx::swhca
