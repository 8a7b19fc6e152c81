// SPDX-License-Identifier: BSD-3-Clause
// The interposed calls about signals. A thread that blocks SIGSEGV would be killed at its first
// doorbell, so the fault signals are left out of every mask.
#include "signals.h"

#include "next.h"
#include "shield.h"

#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace ufx::swhca::shim {

namespace {

constexpr std::array<int, 2> fault_signals = {SIGSEGV, SIGBUS};
constexpr size_t kernel_set_bytes = 8;

// What the program has installed. A new one goes into the next place, so that a handler on another
// thread never reads one that is half written.
struct program_action {
    static constexpr unsigned places = 8;
    std::array<struct sigaction, places> written;
    std::atomic<unsigned> newest; // release by the writer, acquire by handlers
};

constinit std::array<program_action, 2> actions{};
constinit std::atomic<bool> taken{false};

constinit next_function<int (*)(int, const struct sigaction *, struct sigaction *)>
    next_sigaction("sigaction");
constinit next_function<sighandler_t (*)(int, sighandler_t)> next_signal("signal");
constinit next_function<int (*)(int, const sigset_t *, sigset_t *)>
    next_pthread_sigmask("pthread_sigmask");
constinit next_function<int (*)(int, const sigset_t *, sigset_t *)> next_sigprocmask("sigprocmask");
constinit next_function<int (*)(const sigset_t *)> next_sigsuspend("sigsuspend");
constinit next_function<int (*)(pollfd *, nfds_t, const timespec *, const sigset_t *)>
    next_ppoll("ppoll");
constinit next_function<int (*)(int, fd_set *, fd_set *, fd_set *, const timespec *,
                                const sigset_t *)>
    next_pselect("pselect");
constinit next_function<int (*)(int, epoll_event *, int, int, const sigset_t *)>
    next_epoll_pwait("epoll_pwait");

program_action *action_of(int number) noexcept
{
    for (size_t i = 0; i < fault_signals.size(); i++) {
        if (fault_signals[i] == number) {
            return &actions[i];
        }
    }
    return nullptr;
}

struct sigaction read_action(const program_action &from) noexcept
{
    return from.written[from.newest.load(std::memory_order_acquire) % program_action::places];
}

void write_action(program_action &to, const struct sigaction &what) noexcept
{
    unsigned next = to.newest.load(std::memory_order_relaxed) + 1;
    to.written[next % program_action::places] = what;
    to.newest.store(next, std::memory_order_release);
}

// A set without the fault signals.
class open_set {
public:
    explicit open_set(const sigset_t *from) noexcept
    {
        if (from != nullptr) {
            set_ = *from;
            for (int number : fault_signals) {
                sigdelset(&*set_, number);
            }
        }
    }

    [[nodiscard]] const sigset_t *get() const noexcept { return set_ ? &*set_ : nullptr; }

private:
    std::optional<sigset_t> set_;
};

// A mask that was inherited from the program that started this one.
__attribute__((constructor)) void unblock_fault_signals() noexcept
{
    sigset_t faults;
    sigemptyset(&faults);
    for (int number : fault_signals) {
        sigaddset(&faults, number);
    }
    (void)::syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &faults, nullptr, kernel_set_bytes);
}

// The mask under which the kernel would run the program's handler.
void set_mask_of(const struct sigaction &action, int number, const ucontext_t &where) noexcept
{
    sigset_t mask;
    sigemptyset(&mask);
    std::memcpy(&mask, &where.uc_sigmask, kernel_set_bytes);
    for (int each = 1; each < NSIG; each++) {
        if (sigismember(&action.sa_mask, each) == 1 ||
            (each == number && (action.sa_flags & SA_NODEFER) == 0)) {
            sigaddset(&mask, each);
        }
    }
    open_set open(&mask);
    (void)::syscall(SYS_rt_sigprocmask, SIG_SETMASK, open.get(), nullptr, kernel_set_bytes);
}

void die_of(int number, const siginfo_t &info) noexcept
{
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    (void)next_sigaction.get()(number, &plain, nullptr);
    if (info.si_code <= 0) { // sent by somebody; a fault comes again by itself
        (void)::raise(number);
    }
}

int set_action(int number, const struct sigaction *now, struct sigaction *before) noexcept
{
    std::optional<struct sigaction> wanted;
    if (now != nullptr) {
        wanted = *now;
        wanted->sa_mask = *open_set(&now->sa_mask).get();
    }
    program_action *kept = action_of(number);
    if (kept == nullptr || !taken.load(std::memory_order_acquire)) {
        return next_sigaction.get()(number, wanted ? &*wanted : nullptr, before);
    }
    struct sigaction old = read_action(*kept);
    if (wanted) {
        write_action(*kept, *wanted);
    }
    if (before != nullptr) {
        *before = old;
    }
    return 0;
}

} // namespace

void take_fault_signals(signal_handler handler) noexcept
{
    if (taken.load(std::memory_order_acquire)) {
        return;
    }
    struct sigaction ours {};
    ours.sa_sigaction = handler;
    // No handler of the program comes between, and a copy of the engine may fault inside. ONSTACK:
    // a program that handles the overflow of its stack must still be able to.
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    shield::fill(ours.sa_mask);
    for (size_t i = 0; i < fault_signals.size(); i++) {
        struct sigaction before {};
        (void)next_sigaction.get()(fault_signals[i], nullptr, &before);
        write_action(actions[i], before);
        (void)next_sigaction.get()(fault_signals[i], &ours, nullptr);
    }
    taken.store(true, std::memory_order_release);
}

void pass_on(int number, siginfo_t *info, void *ucontext) noexcept
{
    program_action *kept = action_of(number);
    if (kept == nullptr) {
        return;
    }
    struct sigaction action = read_action(*kept);
    bool with_info = (action.sa_flags & SA_SIGINFO) != 0;
    if (!with_info && action.sa_handler == SIG_IGN && info->si_code <= 0) {
        return;
    }
    if (!with_info && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
        die_of(number, *info);
        return;
    }
    if ((static_cast<unsigned>(action.sa_flags) & static_cast<unsigned>(SA_RESETHAND)) != 0) {
        struct sigaction plain {};
        plain.sa_handler = SIG_DFL;
        write_action(*kept, plain);
    }
    set_mask_of(action, number, *static_cast<ucontext_t *>(ucontext));
    if (with_info) {
        action.sa_sigaction(number, info, ucontext);
    } else {
        action.sa_handler(number);
    }
}

} // namespace ufx::swhca::shim

namespace shim = ufx::swhca::shim;

EXPORT int sigaction(int number, const struct sigaction *now, struct sigaction *before) noexcept
{
    return shim::set_action(number, now, before);
}

EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept
{
    if (shim::action_of(number) == nullptr) {
        return shim::next_signal.get()(number, handler);
    }
    struct sigaction now {};
    struct sigaction before {};
    now.sa_handler = handler;
    now.sa_flags = SA_RESTART;
    return sigaction(number, &now, &before) == 0 ? before.sa_handler : SIG_ERR;
}

EXPORT int pthread_sigmask(int how, const sigset_t *now, sigset_t *before) noexcept
{
    shim::open_set open(how == SIG_UNBLOCK ? nullptr : now);
    return shim::next_pthread_sigmask.get()(how, how == SIG_UNBLOCK ? now : open.get(), before);
}

EXPORT int sigprocmask(int how, const sigset_t *now, sigset_t *before) noexcept
{
    shim::open_set open(how == SIG_UNBLOCK ? nullptr : now);
    return shim::next_sigprocmask.get()(how, how == SIG_UNBLOCK ? now : open.get(), before);
}

EXPORT int sigsuspend(const sigset_t *mask)
{
    return shim::next_sigsuspend.get()(shim::open_set(mask).get());
}

EXPORT int ppoll(pollfd *which, nfds_t count, const timespec *limit, const sigset_t *mask)
{
    return shim::next_ppoll.get()(which, count, limit, shim::open_set(mask).get());
}

EXPORT int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others, const timespec *limit,
                   const sigset_t *mask)
{
    return shim::next_pselect.get()(count, reads, writes, others, limit,
                                    shim::open_set(mask).get());
}

EXPORT int epoll_pwait(int set, epoll_event *events, int count, int limit_ms, const sigset_t *mask)
{
    return shim::next_epoll_pwait.get()(set, events, count, limit_ms, shim::open_set(mask).get());
}
