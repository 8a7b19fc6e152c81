// SPDX-License-Identifier: BSD-3-Clause
// shield: while it lives, no handler of the program runs on this thread, and it cannot be
// cancelled: a handler that calls exit() or jumps away must not leave a pass in the middle.
#ifndef UFX_SWHCA_SHIM_SHIELD_H
#define UFX_SWHCA_SHIM_SHIELD_H

#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ufx::swhca::shim {

class shield {
public:
    shield() noexcept
    {
        sigset_t hidden;
        fill(hidden);
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
        set(&hidden, &before_);
    }

    ~shield()
    {
        set(&before_, nullptr);
        ::pthread_setcancelstate(cancel_, nullptr);
    }

    shield(const shield &) = delete;
    shield &operator=(const shield &) = delete;

    // All but what an instruction of the thread itself raises.
    static void fill(sigset_t &hidden) noexcept
    {
        sigfillset(&hidden);
        for (int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
            sigdelset(&hidden, raised);
        }
    }

private:
    static void set(const sigset_t *now, sigset_t *before) noexcept
    {
        constexpr size_t kernel_bytes = 8; // of a signal set
        (void)::syscall(SYS_rt_sigprocmask, SIG_SETMASK, now, before, kernel_bytes);
    }

    sigset_t before_{};
    int cancel_ = 0;
};

} // namespace ufx::swhca::shim

#endif
