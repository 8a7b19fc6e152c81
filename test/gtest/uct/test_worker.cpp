// SPDX-License-Identifier: BSD-3-Clause
// The worker: mailbox, event fd, ifaces that come and go.
#include <ufx/uct.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <poll.h>
#include <thread>
#include <vector>

namespace {

bool readable(int fd, int timeout_ms)
{
    pollfd entry{fd, POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1;
}

struct fixture {
    fixture() { REQUIRE(ufx_uct_worker_create(&worker) == UFX_OK); }
    ~fixture() { ufx_uct_worker_destroy(worker); }
    ufx_uct_worker_h worker = nullptr;
};

// A bare iface that counts its progress and can detach itself.
struct counting_iface : ufx_uct_iface {
    explicit counting_iface(ufx_uct_worker_h on) : ufx_uct_iface{&table}, worker(on) {}

    static unsigned progress_one(ufx_uct_iface_h iface) noexcept
    {
        auto *self = static_cast<counting_iface *>(iface);
        ++self->calls;
        if (self->leave) {
            self->worker->ops->detach(self->worker, self);
        }
        return 1;
    }

    static ufx_uct_iface_ops_t make()
    {
        ufx_uct_iface_ops_t ops{};
        ops.size = sizeof(ops);
        ops.progress = progress_one;
        ops.event_fd_get = [](ufx_uct_iface_h, int *) noexcept { return UFX_ERR_UNSUPPORTED; };
        ops.event_arm = [](ufx_uct_iface_h, unsigned) noexcept { return UFX_OK; };
        return ops;
    }

    static const ufx_uct_iface_ops_t table;
    ufx_uct_worker_h worker;
    int calls = 0;
    bool leave = false;
};

const ufx_uct_iface_ops_t counting_iface::table = counting_iface::make();

} // namespace

TEST_CASE("worker: what another thread posts runs in progress and wakes the fd", "[threads]")
{
    fixture with;
    int fd = -1;
    REQUIRE(ufx_uct_worker_event_fd(with.worker, &fd) == UFX_OK);
    REQUIRE(ufx_uct_worker_arm(with.worker) == UFX_OK);
    CHECK_FALSE(readable(fd, 0));
    struct box {
        int ran = 0;
        std::thread::id where;
    } box;
    ufx_status_t posted = UFX_ERR_IO;
    std::thread other([&] {
        posted = ufx_uct_worker_post(
            with.worker,
            [](void *arg) {
                auto *to = static_cast<struct box *>(arg);
                ++to->ran;
                to->where = std::this_thread::get_id();
            },
            &box);
    });
    REQUIRE(readable(fd, 10000));
    other.join();
    CHECK(posted == UFX_OK);
    CHECK(box.ran == 0);
    CHECK(ufx_uct_worker_arm(with.worker) == UFX_ERR_BUSY);
    CHECK(ufx_uct_worker_progress(with.worker) == 1);
    CHECK(box.ran == 1);
    CHECK(box.where == std::this_thread::get_id());
    CHECK(ufx_uct_worker_arm(with.worker) == UFX_OK);
    CHECK_FALSE(readable(fd, 0));
}

TEST_CASE("worker: letters of many threads all arrive, each once", "[threads]")
{
    fixture with;
    constexpr int threads = 4;
    constexpr int each = 1000;
    static std::atomic<int> ran;
    ran = 0;
    std::vector<std::thread> posters;
    for (int i = 0; i < threads; ++i) {
        posters.emplace_back([&] {
            for (int n = 0; n < each; ++n) {
                static_cast<void>(ufx_uct_worker_post(
                    with.worker, [](void *) { ran.fetch_add(1, std::memory_order_relaxed); },
                    nullptr));
            }
        });
    }
    for (std::thread &poster : posters) {
        poster.join();
    }
    while (ufx_uct_worker_progress(with.worker) != 0) {
    }
    CHECK(ran == threads * each);
}

TEST_CASE("worker: an iface may leave inside its own progress")
{
    fixture with;
    counting_iface first(with.worker);
    counting_iface second(with.worker);
    const ufx_uct_worker_ops_t *ops = with.worker->ops;
    REQUIRE(ops->attach(with.worker, &first) == UFX_OK);
    REQUIRE(ops->attach(with.worker, &second) == UFX_OK);
    first.leave = true;
    CHECK(ufx_uct_worker_progress(with.worker) == 2);
    CHECK(ufx_uct_worker_progress(with.worker) == 1);
    CHECK(first.calls == 1);
    CHECK(second.calls == 2);
    ops->detach(with.worker, &second);
    CHECK(ufx_uct_worker_progress(with.worker) == 0);
}
