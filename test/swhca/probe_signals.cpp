// SPDX-License-Identifier: BSD-3-Clause
// Cases of the probe about signals: threads that block them, small alternate stacks, handlers of
// the program's own, and handlers that do not return.
#include "probe.h"

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ufx::test {

namespace {

constexpr size_t page_bytes = 4096;

verdict all_signals_blocked()
{
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    ::pthread_sigmask(SIG_BLOCK, &every, &before);
    probe one;
    one.connect_pair();
    bool works = one.write();
    // A thread inherits the mask, and one sets its own.
    std::thread inherits([&] { works = works && one.write(); });
    inherits.join();
    ::sigprocmask(SIG_SETMASK, &every, nullptr);
    works = works && one.write();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return works ? nullptr : "a thread that blocks signals cannot post";
}

probe *posting = nullptr;
volatile std::sig_atomic_t posted_well = 0;

// A handler whose mask has everything, as careful programs write it.
verdict post_in_a_handler()
{
    probe one;
    one.connect_pair();
    posting = &one;
    struct sigaction action {};
    action.sa_handler = [](int) { posted_well = posting->write() ? 1 : 0; };
    sigfillset(&action.sa_mask);
    ::sigaction(SIGUSR1, &action, nullptr);
    ::raise(SIGUSR1);
    return posted_well == 1 ? nullptr : "a handler that masks all cannot post";
}

// A stack of 8 KB with a page below that must not be touched.
void use_small_stack()
{
    constexpr size_t size = 2 * page_bytes;
    void *pages = ::mmap(nullptr, size + page_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::mprotect(pages, page_bytes, PROT_NONE);
    stack_t small{};
    small.ss_sp = static_cast<char *>(pages) + page_bytes;
    small.ss_size = size;
    ::sigaltstack(&small, nullptr);
}

verdict small_alternate_stack()
{
    use_small_stack();
    probe one;
    one.connect_pair();
    for (int i = 0; i < 20; i++) {
        if (!one.write()) {
            return "a write failed";
        }
    }
    // A payload that is not there any more: a copy inside the engine faults.
    void *page =
        ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ibv_mr *gone = ibv_reg_mr(one.first()->pd, page, page_bytes,
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ::munmap(page, page_bytes);
    if (!one.post_write(one.first(), reinterpret_cast<uintptr_t>(page), gone->rkey) ||
        one.wait() == IBV_WC_SUCCESS) {
        return "a write to memory that is gone succeeded";
    }
    ibv_dereg_mr(gone);
    return nullptr;
}

// A file that has been cut under its mapping: SIGBUS.
verdict memory_that_is_cut()
{
    probe one;
    one.connect_pair();
    int file = ::memfd_create("cut", 0);
    (void)!::ftruncate(file, page_bytes);
    void *page = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ibv_mr *cut = ibv_reg_mr(one.first()->pd, page, page_bytes,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    (void)!::ftruncate(file, 0);
    bool failed =
        one.post_write(one.first(), reinterpret_cast<uintptr_t>(page), cut->rkey) && one.wait() > 0;
    ibv_dereg_mr(cut);
    return failed ? nullptr : "a write to memory that was cut did not fail";
}

sigjmp_buf back;
volatile std::sig_atomic_t caught = 0;
volatile std::sig_atomic_t usr1_blocked = 0;

void note_fault(int, siginfo_t *, void *)
{
    sigset_t now;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
    usr1_blocked = sigismember(&now, SIGUSR1);
    caught = caught + 1;
    siglongjmp(back, 1);
}

// Stores to the address; true if the program's own handler was called.
bool store_faults(void *at)
{
    std::sig_atomic_t before = caught;
    if (sigsetjmp(back, 1) == 0) {
        *static_cast<volatile uint32_t *>(at) = 1;
    }
    return caught != before;
}

verdict own_handler_of_faults()
{
    use_small_stack();
    struct sigaction action {};
    action.sa_sigaction = note_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaddset(&action.sa_mask, SIGUSR1);
    ::sigaction(SIGSEGV, &action, nullptr); // before there is a trap, and after
    probe one;
    one.connect_pair();
    void *page = ::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!store_faults(page) || usr1_blocked != 1 || !one.write()) {
        return "a handler from before the trap is not called as it should be";
    }
    struct sigaction before {};
    ::sigaction(SIGSEGV, nullptr, &before);
    if (before.sa_sigaction != note_fault) {
        return "sigaction() does not tell the program's own handler";
    }
    action.sa_flags = static_cast<int>(static_cast<unsigned>(action.sa_flags) | SA_RESETHAND);
    ::sigaction(SIGSEGV, &action, nullptr);
    if (!store_faults(page) || !one.write()) {
        return "a handler is not called";
    }
    ::sigaction(SIGSEGV, nullptr, &before);
    return before.sa_handler == SIG_DFL ? nullptr : "SA_RESETHAND is not obeyed";
}

// A page that was a doorbell is an ordinary one when it is mapped anew.
verdict unmapped_doorbell()
{
    struct sigaction action {};
    action.sa_sigaction = note_fault;
    action.sa_flags = SA_SIGINFO;
    probe one;
    ::sigaction(SIGSEGV, &action, nullptr);
    for (int way = 0; way < 2; way++) {
        void *page = ::mmap(nullptr, page_bytes, PROT_WRITE, MAP_SHARED, one.context()->cmd_fd, 0);
        if (page == MAP_FAILED || store_faults(page)) {
            return "there is no doorbell page";
        }
        if (way == 0) {
            ::munmap(page, page_bytes);
        }
        if (::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
                page ||
            !store_faults(page)) {
            return "a page is taken for a doorbell that it is no more";
        }
        ::munmap(page, page_bytes);
    }
    return nullptr;
}

verdict killed_by_faults()
{
    for (bool sent : {false, true}) {
        pid_t child = ::fork();
        if (child == 0) {
            probe one;
            if (sent) {
                ::kill(::getpid(), SIGSEGV);
            } else {
                void *page =
                    ::mmap(nullptr, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                *static_cast<volatile int *>(page) = 1;
            }
            ::_exit(0);
        }
        if (wait_for_child(child) != 128 + SIGSEGV) {
            return sent ? "SIGSEGV that is sent does not kill" : "a fault does not kill";
        }
    }
    return nullptr;
}

void ring_in_us(int us, int every_us)
{
    itimerval when{};
    when.it_value.tv_usec = us;
    when.it_interval.tv_usec = every_us;
    ::setitimer(ITIMER_REAL, &when, nullptr);
}

verdict exit_in_a_handler()
{
    constexpr int times = 25;
    for (int i = 0; i < times; i++) {
        pid_t child = ::fork();
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            probe one;
            one.connect_pair();
            ::signal(SIGALRM, [](int) { ::exit(0); });
            constexpr int step_us = 137;
            ring_in_us(1000 + i * step_us, 0);
            while (one.write()) {
            }
            ::_exit(1);
        }
        if (wait_for_child(child) != 0) {
            return "exit() in a handler hangs";
        }
    }
    probe one;
    one.connect_pair();
    return one.write() ? nullptr : "the fabric is stuck";
}

verdict jump_out_of_a_handler()
{
    probe one;
    one.connect_pair();
    ::signal(SIGALRM, [](int) { siglongjmp(back, 1); });
    volatile int jumps = 0;
    constexpr int times = 300;
    if (sigsetjmp(back, 1) != 0) {
        jumps = jumps + 1;
    }
    ring_in_us(jumps < times ? 100 : 0, 0);
    while (jumps < times) {
        ibv_qp_attr state{};
        ibv_qp_init_attr caps{};
        (void)ibv_query_qp(one.first(), &state, IBV_QP_STATE, &caps);
    }
    return one.write() ? nullptr : "a lock was left behind";
}

} // namespace

const std::array<probe_case, 9> signal_cases = {{
    {"all-signals-blocked", all_signals_blocked},
    {"post-in-a-handler", post_in_a_handler},
    {"small-alternate-stack", small_alternate_stack},
    {"memory-that-is-cut", memory_that_is_cut},
    {"own-handler-of-faults", own_handler_of_faults},
    {"unmapped-doorbell", unmapped_doorbell},
    {"killed-by-faults", killed_by_faults},
    {"exit-in-a-handler", exit_in_a_handler},
    {"jump-out-of-a-handler", jump_out_of_a_handler},
}};

} // namespace ufx::test
