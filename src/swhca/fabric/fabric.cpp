// SPDX-License-Identifier: BSD-3-Clause
// Making, mapping and locking the shared image.
#include "fabric.h"

#include "liveness.h"
#include "repair.h"
#include "wakeup.h"

#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

constexpr uint16_t default_pkey = 0xffff;
constexpr uint32_t first_qpn = 0x48; // the low ones are special in real devices too
constexpr uint64_t mellanox_oui = 0x0c42a1;

// Of this process, for whoever waits for a lock that it holds.
constinit std::atomic<uint64_t> this_namespace{0};

uint8_t mtu_code(uint32_t bytes) noexcept
{
    return static_cast<uint8_t>(std::countr_zero(bytes) - 7); // IBV_MTU_256 is 1
}

void store_be64(uint8_t *to, uint64_t value) noexcept
{
    for (int i = 7; i >= 0; i--, value >>= 8) {
        to[i] = static_cast<uint8_t>(value);
    }
}

// GID 0 is the link-local one, and on Ethernet GID 1 is the IPv4 address 10.77.0.<n> of RoCE v2.
void init_gids(port &one, uint64_t guid, uint32_t index, bool infiniband) noexcept
{
    one.gids[0].raw[0] = 0xfe;
    one.gids[0].raw[1] = 0x80;
    store_be64(one.gids[0].raw + 8, guid);
    if (!infiniband) {
        const uint8_t mapped[] = {0xff, 0xff, 10, 77, 0, static_cast<uint8_t>(index + 1)};
        std::copy(std::begin(mapped), std::end(mapped), one.gids[1].raw + 10);
    }
}

void init_hca(hca &one, uint32_t index, const fabric_options &options) noexcept
{
    one.in_use = true;
    one.guid = mellanox_oui << 40 | 0x0300'0000'00ull | (index + 1);
    one.next_qpn = first_qpn;
    one.port.state = IBV_PORT_ACTIVE;
    one.port.phys_state = 5; // LinkUp, IBA 1.4, table 154
    one.port.link_layer = options.infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    one.port.mtu = mtu_code(options.mtu_bytes);
    one.port.lid = options.infiniband ? static_cast<uint16_t>(index + 1) : 0;
    one.port.pkeys[0] = default_pkey;
    one.port.rate_bps = options.rate_bps;
    one.port.latency_ns = options.latency_ns;
    init_gids(one.port, one.guid, index, options.infiniband);
}

void init_image(image &shared, const fabric_options &options) noexcept
{
    init_robust_mutex(shared.lock);
    for (process_slot &slot : shared.processes) {
        init_robust_mutex(slot.alive);
    }
    for (uint32_t i = 0; i < options.hcas; i++) {
        init_hca(shared.hcas[i], i, options);
    }
    shared.wire_head = shared.wire_tail = shared.wire_free = no_index;
    shared.next_mkey = 0x11;
    shared.seed_state = options.seed;
    shared.stepped_ns.store(options.stepped ? ns_per_s : 0, std::memory_order_relaxed);
    shared.epoch_ns = time_of(shared);
    shared.next_due_ns.store(UINT64_MAX, std::memory_order_relaxed);
    shared.hca_count = options.hcas;
    shared.version = image_version;
    shared.magic = image_magic;
    // Pairs with the acquire in attach().
    shared.ready.store(true, std::memory_order_release);
}

} // namespace

void note_pid_namespace() noexcept
{
    this_namespace.store(own_pid_namespace(), std::memory_order_relaxed);
}

void init_robust_mutex(pthread_mutex_t &mutex) noexcept
{
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    ::pthread_mutex_init(&mutex, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
}

bool reserve_memory(const void *start, size_t size) noexcept
{
    constexpr uintptr_t page_mask = 4095;
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE, since Linux 5.14
    auto first = reinterpret_cast<uintptr_t>(start) & ~page_mask;
    size_t length = reinterpret_cast<uintptr_t>(start) + size - first;
    // An older kernel does not know it.
    return ::madvise(reinterpret_cast<void *>(first), length, populate_write) == 0 ||
           (errno != EFAULT && errno != ENOMEM);
}

uint64_t fabric::least_bytes() noexcept
{
    return offsetof(image, qps);
}

ucs::result<ucs::owner<fabric>> fabric::make(ucs::fd file, const fabric_options &options)
{
    if (options.hcas == 0 || options.hcas > max_hcas || options.mtu_bytes < 256 ||
        options.mtu_bytes > max_mtu_bytes || !std::has_single_bit(options.mtu_bytes)) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (::ftruncate(file.get(), sizeof(image)) != 0) {
        return ucs::status_from_errno(errno);
    }
    ucs::result<ucs::mapping> mapped = ucs::mapping::file(file.get(), sizeof(image), true);
    if (!mapped) {
        return mapped.error();
    }
    if (!reserve_memory(mapped->data(), least_bytes())) {
        return UFX_ERR_NO_MEMORY;
    }
    auto made = ucs::make_owner<fabric>(std::move(file), std::move(*mapped));
    note_pid_namespace();
    init_image(made->shared(), options);
    return made;
}

ucs::result<ucs::owner<fabric>> fabric::create(const std::string &path,
                                               const fabric_options &options)
{
    ucs::fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) {
        return errno == EEXIST ? UFX_ERR_ALREADY_EXISTS : ucs::status_from_errno(errno);
    }
    return make(std::move(file), options);
}

ucs::result<ucs::owner<fabric>> fabric::create_private(const fabric_options &options)
{
    ucs::fd file(::memfd_create("ufx-swhca", MFD_CLOEXEC));
    if (!file) {
        return ucs::status_from_errno(errno);
    }
    return make(std::move(file), options);
}

ucs::result<ucs::owner<fabric>> fabric::attach(const std::string &path)
{
    ucs::fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) {
        return errno == ENOENT ? UFX_ERR_NO_ELEM : ucs::status_from_errno(errno);
    }
    if (info.st_size == 0) {
        return UFX_ERR_BUSY;
    }
    if (static_cast<uint64_t>(info.st_size) != sizeof(image)) {
        return UFX_ERR_VERSION;
    }
    ucs::result<ucs::mapping> mapped = ucs::mapping::file(file.get(), sizeof(image), true);
    if (!mapped) {
        return mapped.error();
    }
    auto made = ucs::make_owner<fabric>(std::move(file), std::move(*mapped));
    image &shared = made->shared();
    note_pid_namespace();
    if (!shared.ready.load(std::memory_order_acquire)) {
        return UFX_ERR_BUSY;
    }
    if (shared.magic != image_magic || shared.version != image_version) {
        return UFX_ERR_VERSION;
    }
    return made;
}

image_lock::image_lock(image &shared) noexcept : shared_(shared)
{
    int status = ::pthread_mutex_trylock(&shared.lock);
    judge(status == EBUSY ? wait_for_lock() : status);
}

int image_lock::wait_for_lock() noexcept
{
    constexpr uint64_t patience_ns = 100'000'000; // far longer than a pass
    int32_t let_go = 0;
    for (;;) {
        // Not pthread_mutex_clocklock(), which sanitizers of threads do not know.
        timespec until{};
        (void)::clock_gettime(CLOCK_REALTIME, &until);
        uint64_t until_ns = static_cast<uint64_t>(until.tv_nsec) + patience_ns;
        until.tv_sec += static_cast<time_t>(until_ns / ns_per_s);
        until.tv_nsec = static_cast<long>(until_ns % ns_per_s);
        int status = ::pthread_mutex_timedlock(&shared_.lock, &until);
        if (status != ETIMEDOUT) {
            if (status == 0 && let_go != 0) { // it is not in the middle of anything now
                (void)::kill(let_go, SIGSTOP);
            }
            return status;
        }
        int32_t holder = holder_of(shared_.lock);
        if (holder != 0 && shared_.lock_namespace == own_pid_namespace() &&
            let_stopped_go_on(holder)) {
            let_go = holder;
        }
    }
}

image_lock::image_lock(image &shared, std::try_to_lock_t) noexcept : shared_(shared)
{
    judge(::pthread_mutex_trylock(&shared.lock));
}

image_lock::~image_lock()
{
    if (held_) {
        ::pthread_mutex_unlock(&shared_.lock);
        // A poster adds first and tries the lock then, so that one of both sees the other: the
        // bitmap and the mutex are changed by locked instructions, which no load passes on x86.
        if (!looks_again_ && !shared_.pending.empty()) {
            wake_for_pending(shared_);
        }
    }
}

void image_lock::judge(int status) noexcept
{
    held_ = status == 0 || status == EOWNERDEAD;
    if (held_) {
        shared_.lock_namespace = this_namespace.load(std::memory_order_relaxed);
    }
    if (status == EOWNERDEAD) {
        ::pthread_mutex_consistent(&shared_.lock);
        repair_image(shared_);
    }
}

} // namespace ufx::swhca
