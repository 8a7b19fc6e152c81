// SPDX-License-Identifier: BSD-3-Clause
// Scatter to CQE: small data of receives, reads and atomics comes in the CQE and nowhere else, from
// where the provider copies it.
#include "rig.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

namespace ufx::test {

namespace {

struct scattering {
    explicit scattering(const qp_options &options, uint32_t entry_bytes = 64, bool knob = true)
        : entry_bytes_(entry_bytes)
    {
        if (knob) {
            on.fault("scatter-to-cqe on");
            on.step();
        }
        left.emplace(a, uint8_t{2}, nullptr, options);
        right.emplace(b, uint8_t{2}, nullptr, options);
        left->connect(*right);
        right->connect(*left);
        std::iota(there.bytes.begin(), there.bytes.end(), uint8_t{9});
    }

    cqe wait(device &of)
    {
        on.step();
        auto found = of.poll();
        REQUIRE(found);
        return *found;
    }

    [[nodiscard]] bool untouched() const
    {
        return std::count(here.bytes.begin(), here.bytes.end(), 0) ==
               static_cast<long>(here.bytes.size());
    }

    [[nodiscard]] bool in_memory(size_t size) const
    {
        return std::memcmp(here.bytes.data(), there.bytes.data(), size) == 0;
    }

    [[nodiscard]] bool in(const cqe &done, size_t size) const
    {
        return done.inlined.size() == size &&
               std::memcmp(done.inlined.data(), there.bytes.data(), size) == 0;
    }

    uint32_t entry_bytes_;
    rig on;
    device a{on, 0, 1024, entry_bytes_};
    device b{on, 1, 1024, entry_bytes_};
    std::optional<endpoint> left;
    std::optional<endpoint> right;
    region here = a.make_region(4096, all_access);
    region there = b.make_region(4096, all_access);
};

constexpr qp_options everything = {true, true, false};

} // namespace

TEST_CASE(
    "swhca: a small receive comes in its CQE, half of one of 64 bytes or all that is before it")
{
    uint32_t entry_bytes = GENERATE(64u, 128u);
    CAPTURE(entry_bytes);
    uint32_t most = entry_bytes / 2;
    scattering on(everything, entry_bytes);
    for (uint32_t size : {1u, most}) {
        on.left->receive(on.here, 0, 128);
        on.right->send(on.there, size);
        cqe done = on.wait(on.a);
        CHECK(done.opcode == 2);
        CHECK(done.bytes == size);
        CHECK(on.in(done, size));
        CHECK(on.untouched());
        CHECK(on.wait(on.b).inlined.empty()); // a send brings nothing back
    }
    on.left->receive(on.here, 0, 128);
    on.right->send(on.there, most + 1);
    cqe done = on.wait(on.a);
    CHECK(done.bytes == most + 1);
    CHECK(done.inlined.empty());
    CHECK(on.in_memory(most + 1));
}

TEST_CASE("swhca: a small receive that is too short for its message fails as ever")
{
    scattering on(everything);
    on.left->receive(on.here, 0, 16);
    on.right->send(on.there, 17);
    cqe done = on.wait(on.a);
    CHECK(done.opcode == 14);
    CHECK(done.syndrome == 0x01);
    CHECK(done.inlined.empty());
}

TEST_CASE("swhca: small reads and atomics come in their CQEs")
{
    uint32_t entry_bytes = GENERATE(64u, 128u);
    CAPTURE(entry_bytes);
    uint32_t most = entry_bytes / 2;
    scattering on(everything, entry_bytes);
    on.left->read(on.here, most, on.there);
    on.left->fetch_add(on.here, on.there, 1);
    cqe read = on.wait(on.a);
    CHECK(read.sent_opcode == 0x10);
    CHECK(read.bytes == most);
    CHECK(read.inlined.size() == most);
    CHECK(std::memcmp(&read.inlined[8], &on.there.bytes[8], most - 8) == 0);
    cqe atomic = on.wait(on.a);
    CHECK(atomic.sent_opcode == 0x12);
    CHECK(atomic.inlined.size() == 8);
    CHECK(atomic.inlined[0] == 9);
    CHECK(on.there.bytes[0] == 10);
    CHECK(on.untouched());
    on.left->read(on.here, most + 1, on.there);
    CHECK(on.wait(on.a).inlined.empty());
    CHECK(on.in_memory(most + 1));
}

TEST_CASE("swhca: data of reads comes in CQEs only where each has one, or the QP allows it")
{
    SECTION("not every request is signaled")
    {
        scattering on({false, true, false});
        on.left->read(on.here, 16, on.there);
        CHECK(on.wait(on.a).inlined.empty());
        CHECK(on.in_memory(16));
        on.left->receive(on.here, 0, 64);
        on.right->send(on.there, 16);
        CHECK(on.in(on.wait(on.a), 16)); // receives always have one
    }
    SECTION("it is allowed, and a read without a CQE has its data in memory")
    {
        scattering on({false, true, true});
        on.left->read(on.here, 16, on.there, false);
        on.on.step();
        CHECK(on.in_memory(16));
        CHECK_FALSE(on.a.poll());
        std::fill(on.here.bytes.begin(), on.here.bytes.end(), uint8_t{0});
        on.left->read(on.here, 16, on.there);
        CHECK(on.in(on.wait(on.a), 16));
        CHECK(on.untouched());
    }
}

TEST_CASE("swhca: without the knob, or if the QP does not ask, all data is in memory")
{
    bool knob = GENERATE(true, false);
    scattering on({true, !knob, !knob}, 64, knob);
    on.left->receive(on.here, 0, 64);
    on.right->send(on.there, 16);
    CHECK(on.wait(on.a).inlined.empty());
    on.left->read(on.here, 16, on.there);
    CHECK(on.wait(on.a).inlined.empty());
    CHECK(on.in_memory(16));
}

TEST_CASE("swhca: data in a CQE survives losses, and a CQE that is held back")
{
    scattering on(everything);
    on.on.fault("drop responses count 1");
    on.on.fault("hold-cqe 1ms hca 0");
    on.left->read(on.here, 16, on.there);
    on.left->read(on.here, 32, on.there);
    CHECK_FALSE(on.on.until([&] { return on.a.poll().has_value(); }, 10'000, 900'000));
    std::optional<cqe> first;
    REQUIRE(on.on.until([&] { return (first = on.a.poll()).has_value(); }, 10'000));
    CHECK(on.in(*first, 16));
    std::optional<cqe> second;
    REQUIRE(on.on.until([&] { return (second = on.a.poll()).has_value(); }, 10'000));
    CHECK(on.in(*second, 32));
    CHECK(on.untouched());
}

} // namespace ufx::test
