// SPDX-License-Identifier: BSD-3-Clause
// Memory that was unmapped after it was registered: the error is of whose memory it is.
#include "guard_faults.h"
#include "rig.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <sys/mman.h>

namespace ufx::test {

namespace {

constexpr size_t size = 8192;
constexpr uint8_t protection = 4, operation = 0x14, access_error = 0x13; // MLX5_CQE_SYNDROME_*

// Registered memory, and then a hole.
region gone(device &on)
{
    void *pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    region made;
    made.start = reinterpret_cast<uintptr_t>(pages);
    uint32_t handle = 0;
    swhca::mr_request want{on.pd, all_access, made.start, size, made.start};
    REQUIRE(on.on.command([&](swhca::core &world) {
        return swhca::register_mr(world, on.context, want, handle, made.key);
    }) == 0);
    REQUIRE(::mprotect(pages, size, PROT_NONE) == 0); // so that nobody else gets the place
    return made;
}

void post(const std::string &what, endpoint &by, const region &here, const region &there)
{
    if (what == "write") {
        by.write(here, 5000, there);
    } else if (what == "write_imm") {
        by.write_imm(here, 5000, there, 1);
    } else if (what == "send") {
        by.send(here, 5000);
    } else if (what == "read") {
        by.read(here, 5000, there);
    } else {
        by.fetch_add(here, there, 1);
    }
}

} // namespace

TEST_CASE("swhca: memory that was unmapped is an error of whose memory it is")
{
    guard_faults guard;
    swhca::fabric_options options = rig::two_devices();
    options.latency_ns = GENERATE(0u, 1000u); // data is copied at once, or travels
    std::string what = GENERATE("write", "write_imm", "send", "read", "fetch_add");
    CAPTURE(options.latency_ns, what);
    SECTION("local")
    {
        pair on({}, options);
        on.right.receive(on.to, 0, size);
        post(what, on.left, gone(on.a), on.to);
        CHECK(int{on.wait(on.a).syndrome} == protection);
        on.fabric.step(1'000'000);
        CHECK_FALSE(on.b.poll());
        CHECK(on.right.state() == rts);
    }
    SECTION("remote")
    {
        pair on({}, options);
        region there = gone(on.b);
        on.right.receive(what == "send" ? there : on.to, 0, size);
        post(what, on.left, on.from, there);
        CHECK(int{on.wait(on.a).syndrome} == (what == "send" ? operation : access_error));
        CHECK(on.right.state() == err);
    }
}

TEST_CASE("swhca: a datagram from memory that was unmapped stops its sender alone")
{
    guard_faults guard;
    datagram_pair on;
    on.right.receive(on.to, 0, 4096);
    on.left.send_to(gone(on.a), 100, on.right, datagram_pair::qkey);
    on.fabric.step();
    auto done = on.a.poll();
    REQUIRE(done);
    CHECK(int{done->syndrome} == protection);
    CHECK(on.left.state() == sqe);
    CHECK_FALSE(on.b.poll());
}

} // namespace ufx::test
