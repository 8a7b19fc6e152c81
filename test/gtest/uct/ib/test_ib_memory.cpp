// SPDX-License-Identifier: BSD-3-Clause
// Registrations that a device keeps for operations whose buffers were not mapped.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "common/skip.h"
#include "ucs/memory_watch.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <thread>

using namespace ufx::test;

namespace {

constexpr size_t size = 256 << 10;
constexpr uint64_t reads = UFX_UCT_MEM_ACCESS_LOCAL_READ;
constexpr uint64_t writes = reads | UFX_UCT_MEM_ACCESS_LOCAL_WRITE;

char *map_pages(void *wanted = nullptr)
{
    void *at = ::mmap(wanted, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (wanted != nullptr ? MAP_FIXED : 0), -1, 0);
    REQUIRE(at != MAP_FAILED);
    return static_cast<char *>(at);
}

struct device_setting {
    device_setting(const char *name, const char *value) : name_(name) { ::setenv(name, value, 1); }
    ~device_setting() { ::unsetenv(name_); }
    device_setting(const device_setting &) = delete;
    device_setting &operator=(const device_setting &) = delete;

private:
    const char *name_;
};

ufx_status_t enter(ufx_uct_md_h md, void *at, size_t length, uint64_t flags, ufx_uct_mem_h *memh)
{
    ufx_uct_mem_params_t params{};
    params.field_mask =
        UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH | UFX_UCT_MEM_PARAM_FLAGS;
    params.address = at;
    params.length = length;
    params.flags = flags;
    return ufx_uct_md_mem_reg(md, &params, memh);
}

// A buffer of one operation, as ucp has it.
struct used {
    used(ufx_uct_md_h on, void *at, size_t length, uint64_t access = reads) : md(on)
    {
        REQUIRE(enter(md, at, length, access | UFX_UCT_MEM_CACHED, &memh) == UFX_OK);
    }
    ~used() { CHECK(ufx_uct_md_mem_dereg(md, memh) == UFX_OK); }
    used(const used &) = delete;
    used &operator=(const used &) = delete;

    ufx_uct_md_h md;
    ufx_uct_mem_h memh = nullptr;
};

// What is at `from`, into the target's memory.
void put(rc_pair &pair, char *from, size_t length)
{
    const used memory(pair.a().md, from, length);
    counted done;
    const ufx_uct_iov_t iov{from, length, memory.memh};
    REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, pair.target.addr(), pair.target.rkey, &done) ==
            UFX_INPROGRESS);
    REQUIRE(pair.wait([&] { return done.done(); }));
    CHECK(done.result == UFX_OK);
    CHECK(std::memcmp(pair.target.bytes, from, length) == 0);
}

void for_each_cache(const std::function<void(const uct_resource &)> &body)
{
    if (!ufx::ucs::memory_watch::share()) {
        skip("the kernel allows no userfaultfd");
        return;
    }
    for_each_rc(body);
}

} // namespace

TEST_CASE(
    "rc: a buffer that was not mapped is registered once, and again when its pages are others",
    "[.][hca]")
{
    for_each_cache([](const uct_resource &resource) {
        rc_pair pair(resource);
        CHECK((pair.a().md_attr.flags & UFX_UCT_MD_FLAG_CACHE) != 0);
        char *at = map_pages();
        const int before = count_regions().made;
        for (char round = 1; round < 6; round++) {
            std::memset(at, round, size);
            put(pair, at, size);
            put(pair, at + 5000, 100);
        }
        CHECK(count_regions().made == before + 1);
        for (char round = 1; round < 6; round++) {
            REQUIRE(::munmap(at, size) == 0);
            at = map_pages(at);
            std::memset(at, 10 + round, size);
            put(pair, at, size);
            CHECK(count_regions().made == before + 1 + round);
        }
        ::munmap(at, size);
    });
}

TEST_CASE("rc: without the cache each operation registers its buffer, and gives it back",
          "[.][hca]")
{
    const device_setting off("UFX_IB_REG_CACHE", "n");
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        char *at = map_pages();
        const region_count before = count_regions();
        for (int round = 1; round < 4; round++) {
            put(pair, at, size);
            CHECK(count_regions().made == before.made + round);
            CHECK(count_regions().there == before.there);
        }
        ::munmap(at, size);
    });
}

TEST_CASE("rc: what is kept makes room when the device takes no more", "[.][hca][L09]")
{
    const device_setting few("UFX_IB_REG_CACHE_ENTRIES", "2");
    for_each_cache([](const uct_resource &resource) {
        rc_pair pair(resource);
        const ufx_uct_md_h md = pair.a().md;
        char *at = map_pages();
        const region_count before = count_regions();
        for (size_t i = 0; i < 4; i++) {
            put(pair, at + i * 16384, 1000);
        }
        CHECK(count_regions().there == before.there + 2);
        {
            const failing_call full("ibv_reg_mr_iova2", ENOMEM, 0, 1);
            put(pair, at + 200'000, 1000); // in place of one that is idle
            CHECK(full.hits() == 1);
            CHECK(count_regions().there == before.there + 2);
        }
        ufx_uct_mem_h mapped = nullptr;
        {
            const failing_call full("ibv_reg_mr_iova2", ENOMEM, 0, 2);
            REQUIRE(enter(md, at, size, UFX_UCT_MEM_ACCESS_ALL, &mapped) == UFX_OK);
            CHECK(count_regions().there == before.there + 1); // both are gone
        }
        REQUIRE(ufx_uct_md_mem_dereg(md, mapped) == UFX_OK);
        {
            const used here(md, at, 1000);
            const failing_call full("ibv_reg_mr_iova2", ENOMEM, 0, 1 << 20);
            ufx_uct_mem_h none = nullptr;
            CHECK(enter(md, at + 30'000, 1, reads | UFX_UCT_MEM_CACHED, &none) ==
                  UFX_ERR_NO_MEMORY);
            CHECK(enter(md, at + 30'000, 1, reads, &none) == UFX_ERR_NO_MEMORY);
        }
        put(pair, at + 30'000, 1);
        ::munmap(at, size);
    });
}

TEST_CASE("rc: memory that a peer may use is never taken from what is kept", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const uct_side side(resource, nullptr);
        char *at = map_pages();
        ufx_uct_mem_h memh = nullptr;
        CHECK(enter(side.md, at, size, UFX_UCT_MEM_ACCESS_REMOTE_GET | UFX_UCT_MEM_CACHED, &memh) ==
              UFX_ERR_INVALID_PARAM);
        CHECK(memh == nullptr);
        ::munmap(at, size);
    });
}

TEST_CASE("rc: what is kept of memory that was unmapped goes, though nobody registers any more",
          "[.][hca]")
{
    for_each_cache([](const uct_resource &resource) {
        rc_pair pair(resource);
        char *at = map_pages();
        const int before = count_regions().there;
        put(pair, at, size);
        CHECK(count_regions().there == before + 1);
        ::munmap(at, size);
        CHECK(pair.wait([&] { return count_regions().there == before; }));
    });
}

TEST_CASE("rc: threads register, unmap and map the same addresses while puts are under way",
          "[.][hca]")
{
    const device_setting few("UFX_IB_REG_CACHE_ENTRIES", "4");
    for_each_cache([](const uct_resource &resource) {
        rc_pair pair(resource);
        const ufx_uct_md_h md = pair.a().md;
        std::atomic<bool> ended = false;
        std::atomic<int> failed = 0;
        const auto churn = [&] {
            while (!ended.load(std::memory_order_relaxed)) {
                void *at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                ufx_uct_mem_h memh = nullptr;
                if (enter(md, at, size, writes | UFX_UCT_MEM_CACHED, &memh) != UFX_OK ||
                    ufx_uct_md_mem_dereg(md, memh) != UFX_OK) {
                    ++failed;
                }
                ::munmap(at, size);
            }
        };
        std::thread one(churn);
        std::thread two(churn);
        for (int round = 0; round < 60; round++) {
            char *at = map_pages();
            std::memset(at, round, size);
            put(pair, at, size);
            put(pair, at, 77);
            ::munmap(at, size);
        }
        ended = true;
        one.join();
        two.join();
        CHECK(failed == 0);
    });
}
