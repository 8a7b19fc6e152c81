// SPDX-License-Identifier: BSD-3-Clause
// How a transfer is shared among rails of different speed.
#include "data_fake_pair.h"

#include "ucp/rail_speed.h"
#include "ucs/fake_clock.h"

#include <array>
#include <functional>

using ufx::test::fake_pair;
using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::waiter;
using ufx::ucp::rail_speed;
using ufx::ucs::ns_per_ms;

namespace {

constexpr std::uint64_t busy = rail_speed::busy_bytes;

// Two rails that pass so many packets of 1 KB in a millisecond.
class slow_rails {
public:
    slow_rails(unsigned first, unsigned second) : per_ms_{first, second} {}

    // Milliseconds until then.
    unsigned run(const std::function<bool()> &is_done)
    {
        unsigned ms = 0;
        for (; !is_done() && ms < 10'000; ++ms) {
            for (unsigned rail = 0; rail < 2; ++rail) {
                pair.own(rail).data.allow(per_ms_[rail]);
            }
            clock_.advance(ns_per_ms);
            pair.rounds(20);
        }
        return ms;
    }
    void stop(unsigned rail) { per_ms_[rail] = 0; }
    double megabytes_per_s(unsigned rail) const
    {
        return ufx::ucp::worker::of(pair.a.worker).rails()[rail]->speed().bytes_per_s() / 1e6;
    }

private:
    ufx::ucs::fake_clock clock_;

public:
    fake_pair pair;

private:
    std::array<unsigned, 2> per_ms_;
};

} // namespace

TEST_CASE("ucp: a port's speed is measured while it is busy", "[data]")
{
    rail_speed speed;
    speed.set_nominal(50e6);
    SECTION("by what ends, in lumps")
    {
        for (std::uint64_t ms = 1; ms <= 200; ++ms) {
            speed.look(ms * ns_per_ms, ms % 40 == 0 ? 400'000 : 0, busy);
        }
        CHECK(speed.bytes_per_s() == Approx(10e6).epsilon(0.05));
    }
    SECTION("not while it has little to do")
    {
        for (std::uint64_t ms = 1; ms <= 200; ++ms) {
            speed.look(ms * ns_per_ms, 1000, ms % 9 == 0 ? busy - 1 : busy);
        }
        CHECK(speed.bytes_per_s() == 50e6);
    }
    SECTION("and taken for more and more, if it is not measured for long")
    {
        for (std::uint64_t ms = 1; ms <= 200; ++ms) {
            speed.look(ms * ns_per_ms, 1000, busy);
        }
        std::uint64_t now = 200 * ns_per_ms;
        for (double times = 1; times < 50; times *= 2) {
            speed.look(now, 0, 0);
            CHECK(speed.bytes_per_s() == Approx(times * 1e6).epsilon(0.01));
            now += rail_speed::memory_ns + 1;
        }
        speed.look(now, 0, 0);
        CHECK(speed.bytes_per_s() == 50e6);
    }
}

TEST_CASE("ucp: a slow rail does not hold the fast one back", "[data][fake]")
{
    slow_rails rails(100, 10);
    fake_pair &p = rails.pair;
    std::vector<std::byte> local(1 << 20);
    fill(local.data(), local.size(), 1);
    // Its devices say that both are equally fast; this shows that they are not.
    const std::vector<ufx_ucp_transfer_t> parts(
        16, {local.data(), p.a.peer_addr, local.size(), p.a.peer_key, nullptr});
    waiter list;
    list.posted(ufx_ucp_put_list(p.a.ep, parts.data(), parts.size(), nullptr, &list.params, nullptr));
    (void)rails.run([&] { return list.is_done(); });
    REQUIRE(list.status == UFX_OK);
    CHECK(rails.megabytes_per_s(0) == Approx(102).epsilon(0.2));
    CHECK(rails.megabytes_per_s(1) == Approx(10.2).epsilon(0.2));

    waiter again;
    again.posted(
        ufx_ucp_put_list(p.a.ep, parts.data(), parts.size(), nullptr, &again.params, nullptr));
    CHECK(rails.run([&] { return again.is_done(); }) < 180); // by the fast one alone 164, by both 149
    // The fast one alone takes 11 ms, half of it by the slow one 51.
    waiter w;
    w.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key, &w.params,
                         nullptr));
    CHECK(rails.run([&] { return w.is_done(); }) < 16);
    CHECK(w.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 1) == local.size());
}

TEST_CASE("ucp: what is held back for a rail that fails goes by the slow one at once", "[data][fake]")
{
    slow_rails rails(100, 2);
    fake_pair &p = rails.pair;
    std::vector<std::byte> local(1 << 20);
    const std::vector<ufx_ucp_transfer_t> parts(
        32, {local.data(), p.a.peer_addr, local.size(), p.a.peer_key, nullptr});
    waiter list;
    list.posted(ufx_ucp_put_list(p.a.ep, parts.data(), 16, nullptr, &list.params, nullptr));
    (void)rails.run([&] { return list.is_done(); });
    REQUIRE(list.status == UFX_OK);

    const auto &ports = ufx::ucp::worker::of(p.a.worker).rails();
    waiter again;
    again.posted(ufx_ucp_put_list(p.a.ep, parts.data(), 32, nullptr, &again.params, nullptr));
    const auto posted = [&] { return ports[0]->count.tx_bytes + ports[1]->count.tx_bytes; };
    const std::uint64_t first = posted();
    (void)rails.run([&] {
        return again.is_done() ||
               (posted() - first > 13 << 20 && ports[1]->outstanding_bytes() == 0);
    });
    REQUIRE(posted() - first < 32 << 20); // the slow one waits beside what is left
    rails.stop(0);
    const std::uint64_t before = ports[1]->count.tx_bytes;
    p.own(0).tell(UFX_UCT_IFACE_PORT_DOWN);
    CHECK(rails.run([&] { return ports[1]->count.tx_bytes != before; }) < 20); // not after its grace
}

TEST_CASE("ucp: what one ep has under way counts when another one chooses a rail", "[data][fake]")
{
    fake_pair p;
    ufx::ucp::worker &home = ufx::ucp::worker::of(p.a.worker);
    p.own(0).data.hold();
    p.own(1).data.hold();
    home.rails()[0]->posted(1 << 20); // as if by another ep
    std::vector<std::byte> local(1000);
    std::array<waiter, 4> puts;
    for (waiter &w : puts) {
        w.posted(ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key,
                             &w.params, nullptr));
    }
    p.rounds(5);
    home.rails()[0]->ended(1 << 20);
    CHECK(home.rails()[0]->outstanding_bytes() == 0);
    CHECK(home.rails()[1]->outstanding_bytes() == 4 * local.size());
    p.own(0).data.open();
    p.own(1).data.open();
    for (waiter &w : puts) {
        REQUIRE(p.until_done(w));
    }
}
