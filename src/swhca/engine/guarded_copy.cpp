// SPDX-License-Identifier: BSD-3-Clause
// The guard is a jump buffer of the thread, valid while `active`.
#include "guarded_copy.h"

#include <atomic>
#include <csetjmp>
#include <cstring>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UFX_SWHCA_CLANG_ASAN
#endif
#endif

namespace ufx::swhca {

namespace {

struct guard {
    sigjmp_buf back;
    bool active;
};

// initial-exec: no allocation at the first use, which may be in a signal handler.
thread_local guard current __attribute__((tls_model("initial-exec")));

// The address may be any that a program wrote, also one that ASan would take for a mistake of ours.
__attribute__((no_sanitize("address"))) void
copy_bytes(unsigned char *to, const unsigned char *from, size_t size) noexcept
{
#if defined(__SANITIZE_ADDRESS__) || defined(UFX_SWHCA_CLANG_ASAN)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
    std::memcpy(to, from, size);
#endif
}

__attribute__((no_sanitize("address"))) void copy_last(unsigned char *to,
                                                       const unsigned char *from) noexcept
{
    // Release: whoever polls on the last byte with acquire sees all others.
    std::atomic_ref<unsigned char>(*to).store(*from, std::memory_order_release);
}

} // namespace

bool guarded_copy(void *to, const void *from, size_t size) noexcept
{
    if (size == 0) {
        return true;
    }
    if (to == nullptr || from == nullptr) {
        return false;
    }
    if (sigsetjmp(current.back, 0) != 0) {
        current.active = false;
        return false;
    }
    current.active = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    auto *target = static_cast<unsigned char *>(to);
    auto *source = static_cast<const unsigned char *>(from);
    copy_bytes(target, source, size - 1);
    copy_last(target + size - 1, source + size - 1);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    current.active = false;
    return true;
}

void leave_guarded_copy() noexcept
{
    if (current.active) {
        siglongjmp(current.back, 1);
    }
}

} // namespace ufx::swhca
