// SPDX-License-Identifier: BSD-3-Clause
// Each allocation of a mixed run, of a worker, of a dump fails once. Of the run: what was accepted
// ends once, what was refused never, and nothing is done twice or stuck; an ep that lost something
// has failed. It replaces operator new.
#include "data_pair.h"

#include "ucs/log_capture.h"

#include <ufx/ucs.h>
#include <ufx/uct.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

// Allocations until one fails; negative: none will.
long left_until_failure = -1;

void *take(std::size_t size, std::size_t alignment) noexcept
{
    if (left_until_failure >= 0 && left_until_failure-- == 0) {
        return nullptr;
    }
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void *take_or_throw(std::size_t size, std::size_t alignment)
{
    void *memory = take(size, alignment);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

} // namespace

// clang-format off
void *operator new(std::size_t n) { return take_or_throw(n, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void *operator new[](std::size_t n) { return take_or_throw(n, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void *operator new(std::size_t n, std::align_val_t a) { return take_or_throw(n, static_cast<std::size_t>(a)); }
void *operator new(std::size_t n, const std::nothrow_t &) noexcept { return take(n, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void *operator new(std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept { return take(n, static_cast<std::size_t>(a)); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
// clang-format on

using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::waiter;

namespace {

constexpr std::size_t put_bytes = 3000;
constexpr std::size_t list_at = 8192;
constexpr std::size_t counter_at = 65536;
constexpr std::uint16_t am_id = 4;
constexpr std::size_t big_bytes = 40000; // goes by rendezvous

// What reached the target's handlers.
struct received {
    unsigned messages = 0;
    unsigned rendezvous = 0;
    unsigned notified = 0;
    ufx_ucp_worker_h worker = nullptr;

    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<received *>(arg);
        const bool is_rendezvous = (am->flags & UFX_UCP_AM_RNDV) != 0;
        ++(is_rendezvous ? self.rendezvous : self.messages);
        return UFX_OK; // a rendezvous is dropped
    }
    static void on_notify(void *arg, ufx_ucp_ep_h, std::uint64_t, const void *,
                          std::size_t) noexcept
    {
        ++static_cast<received *>(arg)->notified;
    }
};

struct posted {
    waiter w;
    ufx_status_t answer = UFX_OK;

    bool accepted() const { return answer >= 0; }
};

class mixed_run {
public:
    explicit mixed_run(pair &p) : pair_(p), local_(big_bytes), fetched_(put_bytes)
    {
        fill(local_.data(), local_.size(), 3);
        REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, am_id, received::on_am, &got) == UFX_OK);
        REQUIRE(ufx_ucp_worker_set_notify_handler(p.b.worker, received::on_notify, &got) == UFX_OK);
        std::memset(p.b.memory, 0, counter_at + 8);
    }

    // One allocation fails. @return whether the run came to it
    bool with_failure_at(long n)
    {
        left_until_failure = n;
        post();
        // The failure may leave the ep failed, never an operation without an end.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (!is_over() && std::chrono::steady_clock::now() < end) {
            pair_.progress();
        }
        const bool failed = left_until_failure < 0;
        left_until_failure = -1;
        for (unsigned i = 0; i < 50; ++i) {
            pair_.progress(); // a second callback, or handler, would come now
        }
        return failed;
    }

    void check() const
    {
        for (const posted &one : all_) {
            CHECK(one.w.calls == (one.accepted() ? 1u : 0u));
        }
        if (!pair_.a.events.empty() || !pair_.b.events.empty()) {
            return; // the ep failed, both users know
        }
        for (const posted &one : all_) {
            CHECK((!one.accepted() || one.w.status == UFX_OK));
        }
        CHECK(got.messages == (message->accepted() ? 1u : 0u));
        CHECK(got.rendezvous == (rendezvous->accepted() ? 1u : 0u));
        CHECK(got.notified == (list->accepted() ? 1u : 0u));
        std::uint64_t counter = 0;
        std::memcpy(&counter, pair_.b.memory + counter_at, sizeof(counter));
        CHECK(counter == (atomic->accepted() ? 5u : 0u));
        if (put->accepted()) {
            CHECK(first_difference(pair_.b.memory, put_bytes, 3) == put_bytes);
        }
        if (list->accepted()) {
            CHECK(first_difference(pair_.b.memory + list_at, put_bytes, 3) == put_bytes);
        }
    }

    received got;

private:
    template <class F>
    posted *add(F &&call)
    {
        posted &one = all_.at(count_++);
        one.answer = call(one.w);
        if (one.answer == UFX_OK) {
            one.w.posted(UFX_OK);
        }
        return &one;
    }

    void post()
    {
        ufx_ucp_ep_h ep = pair_.a.ep;
        const std::uint64_t to = pair_.a.peer_addr;
        ufx_ucp_rkey_h key = pair_.a.peer_key;
        put = add([&](waiter &w) {
            return ufx_ucp_put(ep, local_.data(), put_bytes, to, key, &w.params, nullptr);
        });
        message = add([&](waiter &w) {
            return ufx_ucp_am_send(ep, am_id, "head", 4, local_.data(), 2000, &w.params, nullptr);
        });
        rendezvous = add([&](waiter &w) {
            return ufx_ucp_am_send(ep, am_id, nullptr, 0, local_.data(), big_bytes,
                                   w.with_flags(UFX_UCP_OP_AM_RNDV), nullptr);
        });
        ufx_ucp_transfer_t piece{};
        piece.local = local_.data();
        piece.remote_addr = to + list_at;
        piece.length = put_bytes;
        piece.rkey = key;
        ufx_ucp_notify_t notify{};
        notify.tag = 9;
        list = add([&](waiter &w) {
            return ufx_ucp_put_list(ep, &piece, 1, &notify, &w.params, nullptr);
        });
        atomic = add([&](waiter &w) {
            return ufx_ucp_atomic(ep, UFX_UCP_ATOMIC_ADD, 5, 0, 8, &before_, to + counter_at, key,
                                  &w.params, nullptr);
        });
        (void)add([&](waiter &w) {
            return ufx_ucp_get(ep, fetched_.data(), put_bytes, to, key, &w.params, nullptr);
        });
        (void)add([&](waiter &w) { return ufx_ucp_ep_flush(ep, &w.params, nullptr); });
    }

    bool is_over() const
    {
        for (const posted &one : all_) {
            if (one.accepted() && !one.w.is_done()) {
                return false;
            }
        }
        return true;
    }

    pair &pair_;
    std::vector<std::byte> local_;
    std::vector<std::byte> fetched_;
    std::uint64_t before_ = 0;
    std::array<posted, 7> all_; // nothing of the test itself allocates meanwhile
    std::size_t count_ = 0;
    posted *put = nullptr;
    posted *message = nullptr;
    posted *rendezvous = nullptr;
    posted *list = nullptr;
    posted *atomic = nullptr;
};

// What a pool says when it ends with blocks in use. Allocates nothing.
void count_leaks(void *arg, ufx_ucs_log_level_t, const char *, unsigned, const char *text)
{
    *static_cast<unsigned *>(arg) += std::strstr(text, "were not returned") != nullptr ? 1 : 0;
}

} // namespace

TEST_CASE("tcp: each allocation fails once, and every accepted operation still ends once",
          "[nomem][tcp]")
{
    unsigned leaks = 0;
    ufx_ucs_log_set_handler(count_leaks, &leaks);
    long n = 0;
    for (bool failed = true; failed; ++n) {
        pair p;
        mixed_run run(p);
        failed = run.with_failure_at(n);
        INFO("allocation " << n << " failed");
        run.check();
    }
    CHECK(n > 20);
    ufx_ucs_log_set_handler(nullptr, nullptr);
    CHECK(leaks == 0);
}

namespace {

// A context whose workers can be looked into by a socket in a folder of its own.
struct open_context {
    open_context()
    {
        REQUIRE(::mkdtemp(folder) != nullptr);
        const ufx_ucp_config_entry_t entry = {"DEBUG_SOCKET", folder};
        ufx_ucp_context_params_t params{};
        params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES | UFX_UCP_CONTEXT_PARAM_CONFIG;
        params.devices = "lo:127.0.0.1,lo:127.0.0.2";
        params.config = &entry;
        params.config_count = 1;
        REQUIRE(ufx_ucp_context_create(&params, &handle) == UFX_OK);
    }
    ~open_context()
    {
        ufx_ucp_context_destroy(handle);
        ::rmdir(folder);
    }
    open_context(const open_context &) = delete;
    open_context &operator=(const open_context &) = delete;

    char folder[sizeof("/tmp/ufx-test-XXXXXX")] = "/tmp/ufx-test-XXXXXX";
    ufx_ucp_context_h handle = nullptr;
};

} // namespace

TEST_CASE("ucp: each allocation of a worker fails once, and it is made whole or not at all",
          "[nomem]")
{
    const open_context context;
    unsigned leaks = 0;
    ufx_ucs_log_set_handler(count_leaks, &leaks);
    long n = 0;
    for (bool failed = true; failed; ++n) {
        INFO("allocation " << n << " failed");
        ufx_ucp_worker_h worker = nullptr;
        left_until_failure = n;
        const ufx_status_t status = ufx_ucp_worker_create(context.handle, nullptr, &worker);
        failed = left_until_failure < 0;
        left_until_failure = -1;
        CHECK((status == UFX_OK || status == UFX_ERR_NO_MEMORY));
        REQUIRE((worker != nullptr) == (status == UFX_OK));
        for (unsigned i = 0; i < 10 && worker != nullptr; ++i) {
            (void)ufx_ucp_worker_progress(worker);
        }
        ufx_ucp_worker_destroy(worker);
    }
    CHECK(n > 20);
    ufx_ucs_log_set_handler(nullptr, nullptr);
    CHECK(leaks == 0);
}

TEST_CASE("uct: a worker that lacks memory for an iface does not have it", "[nomem]")
{
    struct polled : ufx_uct_iface {
        int fd = ::eventfd(0, EFD_CLOEXEC);
        unsigned calls = 0;
    } iface;
    ufx_uct_iface_ops_t table{};
    table.size = sizeof(table);
    table.progress = [](ufx_uct_iface_h self) noexcept -> unsigned {
        return ++static_cast<polled *>(self)->calls;
    };
    table.event_fd_get = [](ufx_uct_iface_h self, int *fd) noexcept {
        *fd = static_cast<polled *>(self)->fd;
        return UFX_OK;
    };
    iface.ops = &table;
    ufx_uct_worker_h worker = nullptr;
    REQUIRE(ufx_uct_worker_create(&worker) == UFX_OK);
    ufx_status_t status = UFX_ERR_NO_MEMORY;
    long n = 0;
    for (; status == UFX_ERR_NO_MEMORY; ++n) {
        left_until_failure = n;
        status = worker->ops->attach(worker, &iface);
        left_until_failure = -1;
        (void)ufx_uct_worker_progress(worker);
        CHECK(iface.calls == (status == UFX_OK ? 1u : 0u));
    }
    CHECK(n > 2);
    worker->ops->detach(worker, &iface);
    ufx_uct_worker_destroy(worker);
    ::close(iface.fd);
}

TEST_CASE("ucp: each allocation of a debug dump fails once, and the process lives", "[nomem]")
{
    const open_context context;
    ufx_ucp_worker_h worker = nullptr;
    REQUIRE(ufx_ucp_worker_create(context.handle, nullptr, &worker) == UFX_OK);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d.sock", context.folder,
                  static_cast<int>(::getpid()));
    long n = 0;
    std::size_t answered = 0;
    for (bool failed = true; failed; ++n) {
        INFO("allocation " << n << " failed");
        const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        REQUIRE(::connect(client, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
        const std::string_view request = "dump json\n";
        REQUIRE(::send(client, request.data(), request.size(), MSG_NOSIGNAL) > 0);
        answered = 0;
        ssize_t got = -1;
        left_until_failure = n;
        for (unsigned i = 0; got != 0 && i < 100000; ++i) {
            (void)ufx_ucp_worker_progress(worker);
            char bytes[4096];
            got = ::recv(client, bytes, sizeof(bytes), 0);
            answered += got > 0 ? static_cast<std::size_t>(got) : 0;
        }
        failed = left_until_failure < 0;
        left_until_failure = -1;
        CHECK(got == 0); // with an answer or without
        ::close(client);
    }
    CHECK(n > 5);
    CHECK(answered > 100);
    ufx_ucp_worker_destroy(worker);
}

TEST_CASE("ucp: each allocation of a registration fails once, and nothing of it is left", "[nomem]")
{
    pair p;
    ufx_ucp_mem_params_t params{};
    params.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
    params.length = 4096;
    params.flags = UFX_UCP_MEM_ALLOCATE;
    ufx::ucs::log_capture log;
    ufx_ucp_mem_h mem = nullptr;
    ufx_status_t status = UFX_ERR_NO_MEMORY;
    long n = 0;
    for (; status == UFX_ERR_NO_MEMORY; ++n) {
        left_until_failure = n;
        status = ufx_ucp_mem_map(p.a.context, &params, &mem);
        left_until_failure = -1;
        CHECK((mem != nullptr) == (status == UFX_OK));
    }
    CHECK(status == UFX_OK);
    CHECK(n > 3);
    CHECK(ufx_ucp_mem_unmap(p.a.context, mem) == UFX_OK);
    // Refused, for the pair still uses it; what it counts is all there is.
    ufx_ucp_context_destroy(p.a.context);
    INFO(log.text());
    CHECK(log.count("1 workers are not destroyed and 1 memory handles") == 1);
}
