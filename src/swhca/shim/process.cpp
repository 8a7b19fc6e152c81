// SPDX-License-Identifier: BSD-3-Clause
// The state of the shim. It is made at the first device and never destroyed, because other threads
// may use devices until the process has ended; a child after fork() begins anew.
#include "process.h"

#include "descriptors.h"
#include "paths.h"
#include "shield.h"
#include "trap.h"

#include "swhca/abi/uverbs_file.h"
#include "swhca/engine/engine.h"
#include "swhca/engine/membership.h"
#include "swhca/engine/spinner.h"
#include "swhca/fabric/fabric.h"
#include "swhca/fabric/liveness.h"
#include "swhca/fabric/wakeup.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace ufx::swhca::shim {

namespace {

constexpr uint64_t ns_per_ms = 1000000;
constexpr uint64_t heartbeat_ns = 100 * ns_per_ms; // between two looks for dead processes

struct process_state {
    std::recursive_mutex lock; // of what follows, but for the engine
    ucs::owner<fabric> joined;
    ucs::owner<engine> runs;
    engine_kind kind = engine_kind::TRAP;
    std::map<int, ucs::owner<uverbs_file>> files;
    pid_t pid = 0;
    std::atomic<int> started{0}; // by the helper: 1 joined, -1 failed
    std::atomic<bool> stops{false};
    std::atomic<bool> told{false}; // that the memory of others is closed
};

constinit std::atomic<process_state *> current{nullptr};
constinit std::atomic<uint64_t> seed_of_faults{0}; // 0: the fabric's own
thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

void complain(const char *text) noexcept
{
    std::fprintf(stderr, "ufx_swhca: %s\n", text);
}

// Not while this thread runs the devices already: the engine takes no lock twice.
template <class Work>
void enter(Work work) noexcept
{
    if (!inside) {
        shield hidden;
        inside = true;
        work();
        inside = false;
    }
}

// One look of an engine that is a thread; whether there was work.
bool look(engine &runs, uint64_t now_ns) noexcept
{
    bool armed = runs.scan_doorbells();
    bool found = armed || runs.has_due(now_ns);
    if (armed) {
        (void)runs.pass(now_ns, engine_caller::HELPER);
    } else if (found) {
        runs.try_pass(now_ns);
    }
    return found;
}

// What is due comes in order, each at its time; then it is `end_ns`. Returns when the next is due.
uint64_t step_to(process_state &state, uint64_t end_ns) noexcept
{
    image &shared = state.joined->shared();
    engine &runs = *state.runs;
    (void)runs.scan_doorbells();
    uint64_t next_ns = runs.pass(time_of(shared));
    while (next_ns <= end_ns && time_of(shared) < end_ns) {
        // A pass that left work takes a nanosecond, so that there is an end.
        const uint64_t at_ns = std::max(next_ns, time_of(shared) + 1);
        shared.stepped_ns.store(at_ns, std::memory_order_relaxed);
        next_ns = runs.pass(at_ns);
    }
    shared.stepped_ns.store(end_ns, std::memory_order_relaxed);
    return next_ns;
}

// Says once why packets take the long way.
void tell_of_closed_peer(process_state &state) noexcept
{
    int32_t peer = closed_peer(state.joined->shared(), state.runs->self());
    if (peer == 0 || state.told.exchange(true, std::memory_order_relaxed)) {
        return;
    }
    constexpr const char *yama = "/proc/sys/kernel/yama/ptrace_scope";
    ucs::fd file(::open(yama, O_RDONLY | O_CLOEXEC));
    char scope = '-';
    (void)!::read(file.get(), &scope, 1);
    std::fprintf(stderr,
                 "ufx_swhca: process %d may not access the memory of process %d (of another user, "
                 "or protected, or by %s, which is %c), so packets between them are copied twice\n",
                 ::getpid(), peer, yama, scope);
}

// Where the program steps, nobody else works; but a process lives as long as this thread does.
void wait_for_end(process_state &state) noexcept
{
    process_slot &slot = state.joined->shared().processes[state.runs->self()];
    slot.sleeps_until.store(0, std::memory_order_seq_cst); // nobody needs to wake it
    while (!state.stops.load(std::memory_order_acquire) && !is_last_thread()) {
        sleep_until(slot, slot.wake.load(std::memory_order_acquire), 0, heartbeat_ns);
    }
}

void run_helper(process_state &state) noexcept
{
    image &shared = state.joined->shared();
    engine &runs = *state.runs;
    process_slot &slot = shared.processes[runs.self()];
    bool is_engine = state.kind == engine_kind::THREAD;
    constexpr uint64_t thread_sleep_ns = 50000;
    uint64_t limit_ns = is_engine ? thread_sleep_ns : heartbeat_ns;
    uint64_t next_reap_ns = 0;
    uint64_t next_ns = 0;
    uint32_t seen_before = 0;
    spinner spin;
    while (!state.stops.load(std::memory_order_acquire)) {
        // From here on whoever leaves something earlier wakes this thread.
        slot.sleeps_until.store(UINT64_MAX, std::memory_order_seq_cst);
        uint32_t seen = slot.wake.load(std::memory_order_acquire);
        uint64_t now_ns = monotonic_ns();
        if (is_engine && spin.goes_on(look(runs, now_ns))) {
            ::sched_yield();
            continue;
        }
        if (!is_engine || seen != seen_before || now_ns >= std::min(next_ns, next_reap_ns)) {
            (void)runs.scan_doorbells();
            runs.take_left();
            next_ns = runs.pass(now_ns, engine_caller::HELPER);
        }
        seen_before = seen;
        if (now_ns >= next_reap_ns) {
            (void)reap_dead(shared, runs.self(), now_ns);
            next_reap_ns = now_ns + heartbeat_ns;
            if (is_last_thread()) {
                return; // and so the process ends
            }
        }
        tell_of_closed_peer(state);
        uint64_t until_ns = std::min(next_ns, now_ns + limit_ns);
        slot.sleeps_until.store(until_ns, std::memory_order_seq_cst);
        sleep_until(slot, seen, now_ns, until_ns);
    }
}

void *helper_main(void *argument)
{
    auto &state = *static_cast<process_state *>(argument);
    inside = true;
    (void)::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    (void)::prctl(PR_SET_NAME, "ufx_swhca", 0, 0, 0);
    uint32_t self = join_fabric(state.joined->shared(), time_of(state.joined->shared()));
    if (self == no_index) {
        state.started.store(-1, std::memory_order_release);
        state.started.notify_all();
        return nullptr;
    }
    state.runs = std::make_unique<engine>(state.joined->shared(), self);
    state.started.store(1, std::memory_order_release);
    state.started.notify_all();
    if (state.kind == engine_kind::STEP) {
        wait_for_end(state);
    } else {
        run_helper(state);
    }
    return nullptr;
}

bool start_helper(process_state &state)
{
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    sigdelset(&every, SIGSEGV);
    sigdelset(&every, SIGBUS);
    ::pthread_sigmask(SIG_SETMASK, &every, &before);
    pthread_t thread;
    int status = ::pthread_create(&thread, nullptr, helper_main, &state);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (status != 0) {
        return false;
    }
    ::pthread_detach(thread);
    state.started.wait(0, std::memory_order_acquire);
    return state.started.load(std::memory_order_acquire) > 0;
}

engine_kind wanted_engine(const image &shared) noexcept
{
    if (is_stepped(shared)) {
        return engine_kind::STEP;
    }
    const char *name = ::secure_getenv("UFX_SWHCA_ENGINE");
    std::string_view text(name == nullptr ? "" : name);
    return text == "hook"     ? engine_kind::HOOK
           : text == "thread" ? engine_kind::THREAD
                              : engine_kind::TRAP;
}

pthread_mutex_t joining = PTHREAD_MUTEX_INITIALIZER;

// The child has the parent's mapping and descriptors, but neither its slot nor its helper. Another
// thread of the parent may have been joining.
void begin_anew() noexcept
{
    current.store(nullptr, std::memory_order_relaxed);
    inherit_descriptors();
    inside = false;
    joining = PTHREAD_MUTEX_INITIALIZER;
}

bool join(process_state &state)
{
    const char *directory = fabric_directory();
    if (directory == nullptr) {
        return false;
    }
    ucs::result<ucs::owner<fabric>> found = fabric::attach(std::string(directory) + "/fabric");
    if (!found) {
        complain(
            found.error() == UFX_ERR_VERSION
                ? "the fabric was made by another version of ufx_swhca"
                : "there is no fabric in UFX_SWHCA_DIR; programs are started by ufx_swhca run");
        return false;
    }
    state.joined = std::move(*found);
    state.kind = wanted_engine(state.joined->shared());
    state.pid = ::getpid();
    install_trap();
    if (!start_helper(state)) {
        complain(state.kind == engine_kind::STEP
                     ? "a fabric that is stepped (--engine step) is for one process, and has one"
                     : "the fabric has no room for another process");
        return false;
    }
    return true;
}

process_state *joined_state()
{
    static bool watches_forks = false; // under `joining`; a child inherits it with the handler
    process_state *state = current.load(std::memory_order_acquire);
    if (state != nullptr) {
        return state;
    }
    ::pthread_mutex_lock(&joining);
    state = current.load(std::memory_order_acquire);
    if (state == nullptr) {
        if (!watches_forks) {
            watches_forks = ::pthread_atfork(nullptr, nullptr, begin_anew) == 0;
        }
        auto *made = new process_state; // lives as long as the process: the helper looks at it
        if (join(*made)) {
            state = made;
            current.store(state, std::memory_order_release);
            seed_faults(seed_of_faults.load(std::memory_order_relaxed));
        }
    }
    ::pthread_mutex_unlock(&joining);
    return state;
}

void *map_clock_page(size_t length, uint64_t now_ns) noexcept
{
    void *page =
        ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        uverbs_file::write_clock_page(page, now_ns);
        (void)::mprotect(page, length, PROT_READ);
    }
    return page;
}

void leave_at_exit() __attribute__((destructor));

void leave_at_exit()
{
    process_state *state = current.load(std::memory_order_acquire);
    if (state == nullptr || state->pid != ::getpid()) {
        return;
    }
    current.store(nullptr, std::memory_order_release);
    state->stops.store(true, std::memory_order_release);
    inside = true;
    tell_of_closed_peer(*state);
    image &shared = state->joined->shared();
    leave_fabric(shared, state->runs->self(), time_of(shared));
}

} // namespace

bool open_device(int number, uint32_t hca)
{
    process_state *state = number < max_descriptors ? joined_state() : nullptr;
    if (state == nullptr) {
        errno = ENODEV;
        return false;
    }
    enter([&] {
        std::lock_guard lock(state->lock);
        uverbs_options options;
        options.own_registers = state->kind != engine_kind::TRAP;
        options.channel_made = [](int channel) { set_kind(channel, descriptor::CHANNEL); };
        state->files[number] = std::make_unique<uverbs_file>(*state->runs, hca, options);
        set_kind(number, descriptor::DEVICE);
    });
    return true;
}

bool is_device(int number) noexcept
{
    descriptor kind = kind_of(number);
    return kind == descriptor::DEVICE || kind == descriptor::INHERITED;
}

ssize_t device_write(int number, const void *data, size_t size)
{
    process_state *state = current.load(std::memory_order_acquire);
    if (state == nullptr) {
        errno = EIO;
        return -1;
    }
    int error = EBADF;
    enter([&] {
        std::lock_guard lock(state->lock);
        auto found = state->files.find(number);
        if (found != state->files.end()) {
            error = found->second->command({static_cast<const std::byte *>(data), size},
                                           time_of(state->joined->shared()));
        }
    });
    if (error != 0) {
        errno = error;
        return -1;
    }
    return static_cast<ssize_t>(size);
}

void *device_mmap(size_t length, uint64_t offset)
{
    process_state *state = current.load(std::memory_order_acquire);
    uint32_t page = 0;
    constexpr size_t page_bytes = 4096;
    if (state != nullptr && length == page_bytes && uverbs_file::clock_page(offset)) {
        return map_clock_page(length, time_of(state->joined->shared()));
    }
    if (state == nullptr || length != page_bytes || !uverbs_file::doorbell_page(offset, page)) {
        errno = EOPNOTSUPP;
        return MAP_FAILED;
    }
    // Completion queues are armed on the first page, which no hook would see.
    if (state->kind == engine_kind::TRAP || (page == 0 && state->kind != engine_kind::STEP)) {
        return map_trapped_page(length);
    }
    return ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// The engine's own descriptors are none of these, and it holds the lock of the fabric when it
// closes them, so that nothing may be waited for.
void note_close(int number) noexcept
{
    process_state *state = current.load(std::memory_order_acquire);
    if (kind_of(number) == descriptor::NONE || inside) {
        return;
    }
    if (state == nullptr) { // inherited
        set_kind(number, descriptor::NONE);
        return;
    }
    if (state->pid != ::getpid()) {
        return; // a child that borrows this memory until it calls exec(): it closes its own copy
    }
    enter([&] {
        std::lock_guard lock(state->lock);
        if (kind_of(number) == descriptor::DEVICE) {
            set_kind(number, descriptor::NONE);
            state->files.erase(number);
            return;
        }
        set_kind(number, descriptor::NONE);
        for (auto &[device, file] : state->files) {
            if (file->channel_closed(number, time_of(state->joined->shared()))) {
                return;
            }
        }
    });
}

void note_close_range(unsigned first, unsigned last) noexcept
{
    int end = static_cast<int>(std::min<unsigned>(last, max_descriptors - 1));
    if (first > static_cast<unsigned>(end)) {
        return;
    }
    for (int number = next_of_ours(static_cast<int>(first), end); number >= 0;
         number = next_of_ours(number + 1, end)) {
        note_close(number);
    }
}

void poke() noexcept
{
    process_state *state = current.load(std::memory_order_acquire);
    if (state == nullptr || state->kind != engine_kind::HOOK) {
        return;
    }
    doorbell();
}

void doorbell() noexcept
{
    process_state *state = current.load(std::memory_order_acquire);
    if (state == nullptr || inside) {
        return;
    }
    // Nothing is held yet, so that a handler of the program may come between.
    engine &runs = *state->runs;
    bool armed = runs.scan_doorbells();
    uint64_t now_ns = time_of(state->joined->shared());
    if (!armed && !runs.has_due(now_ns)) {
        return;
    }
    enter([&] {
        if (armed) {
            (void)runs.pass(now_ns);
        } else {
            runs.try_pass(now_ns);
        }
    });
}

void seed_faults(uint64_t seed) noexcept
{
    seed_of_faults.store(seed, std::memory_order_relaxed);
    process_state *state = current.load(std::memory_order_acquire);
    if (state != nullptr && seed != 0) {
        image_lock lock(state->joined->shared());
        state->joined->shared().seed_state = seed;
    }
}

uint64_t step(uint64_t by_ns) noexcept
{
    process_state *state = current.load(std::memory_order_acquire);
    if (state == nullptr || state->kind != engine_kind::STEP) {
        return UINT64_MAX;
    }
    uint64_t left_ns = UINT64_MAX;
    enter([&] {
        const uint64_t end_ns = time_of(state->joined->shared()) + by_ns;
        const uint64_t next_ns = step_to(*state, end_ns);
        left_ns = next_ns == UINT64_MAX ? UINT64_MAX : std::max(next_ns, end_ns) - end_ns;
    });
    return left_ns;
}

} // namespace ufx::swhca::shim
