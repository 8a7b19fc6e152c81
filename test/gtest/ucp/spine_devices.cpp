// SPDX-License-Identifier: BSD-3-Clause
// The list of devices that a worker publishes: places in it stay, whatever becomes of a device.
#include "data_pair.h"
#include "lone.h"

#include "ucp/ep.h"
#include "ucp/lane.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/rkey.h"
#include "uct/fake/fake.h"

#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace ufx::test {

namespace {

struct three_devices {
    three_devices()
    {
        uct::fake::install();
        uct::fake::reset();
        for (const char *name : {"fake0", "fake1", "fake2"}) {
            uct::fake::add_device(name);
        }
    }
    ~three_devices() { uct::fake::reset(); }
    three_devices(const three_devices &) = delete;
    three_devices &operator=(const three_devices &) = delete;
};

constexpr const char *all_three = "fake0,fake1,fake2";

std::set<unsigned> places_of(std::span<const ucp::rail_address> rails)
{
    std::set<unsigned> places;
    for (const ucp::rail_address &each : rails) {
        places.insert(each.index);
    }
    return places;
}

std::vector<ucp::rail_address> published(const lone &by)
{
    void *bytes = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_worker_get_address(by.handle, &bytes, &length) == UFX_OK);
    const auto address =
        ucp::decode_worker_address({static_cast<const std::uint8_t *>(bytes), length});
    ufx_ucp_worker_release_address(by.handle, bytes);
    REQUIRE(address);
    return address->rails;
}

// Devices of the peer to which the ep has lanes that carry.
std::set<unsigned> carried_to(ufx_ucp_ep_h ep)
{
    std::set<unsigned> places;
    for (const ucp::lane *each : ucp::ep::of(ep).lanes()) {
        if (each->is_open()) {
            places.insert(each->remote_index());
        }
    }
    return places;
}

} // namespace

TEST_CASE(
    "fake: one device of three that cannot be used keeps its place in what is published, carries "
    "for no new peer, and carries again when it is back",
    "[spine][fake][G10][G11]")
{
    const bool is_fatal = GENERATE(false, true);
    CAPTURE(is_fatal);
    const three_devices devices;
    lone b(true, all_three);
    std::vector<std::byte> memory(256 << 10), local(memory.size());
    fill(local.data(), local.size(), 5);
    ufx_ucp_mem_params_t params{};
    params.field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH;
    params.address = memory.data();
    params.length = memory.size();
    ufx_ucp_mem_h mem = nullptr;
    REQUIRE(ufx_ucp_mem_map(b.context, &params, &mem) == UFX_OK);
    const auto before = published(b);
    CHECK(places_of(before) == std::set<unsigned>{0, 1, 2});

    uct::fake::side &lost = *uct::fake::sides("fake1").at(0);
    lost.tell(is_fatal ? UFX_UCT_IFACE_DEVICE_FATAL : UFX_UCT_IFACE_PORT_DOWN);
    REQUIRE(turn({&b}, [&] { return !b.w().rails().at(1)->port_active(); }));
    const auto after = published(b);
    REQUIRE(after.size() == before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        CHECK(after[i].index == before[i].index);
        CHECK(after[i].device_addr == before[i].device_addr);
    }

    lone a(false, all_three);
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return carried_to(ep).size() == 2; }));
    CHECK(carried_to(ep) == std::set<unsigned>{0, 2});
    // Keys are found by the place too: a put over both is applied where it should be.
    void *packed = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_rkey_pack(b.context, mem, &packed, &length) == UFX_OK);
    ufx_ucp_rkey_h key = nullptr;
    REQUIRE(ufx_ucp_ep_rkey_unpack(ep, packed, length, &key) == UFX_OK);
    ufx_ucp_rkey_buffer_release(packed);
    const auto put = [&](unsigned seed) {
        fill(local.data(), local.size(), seed);
        waiter w;
        w.posted(ufx_ucp_put(ep, local.data(), local.size(),
                             reinterpret_cast<std::uintptr_t>(memory.data()), key, &w.params,
                             nullptr));
        REQUIRE(turn({&a, &b}, [&] { return w.is_done(); }));
        CHECK(w.status == UFX_OK);
        CHECK(first_difference(memory.data(), memory.size(), seed) == memory.size());
    };
    // The scripted devices have one memory domain, which is lost as a whole.
    if (!is_fatal) {
        put(6);
        lost.tell(UFX_UCT_IFACE_PORT_UP);
    }
    REQUIRE(turn({&a, &b}, [&] { return carried_to(ep).size() == 3; }));
    CHECK(places_of(published(b)) == std::set<unsigned>{0, 1, 2});
    if (!is_fatal) {
        put(7);
    }
    ufx_ucp_rkey_destroy(key);
    REQUIRE(ufx_ucp_mem_unmap(b.context, mem) == UFX_OK);
}

TEST_CASE("the number of a pair of ports is made and read in one way, the same at both sides",
          "[spine][G15]")
{
    std::set<std::uint16_t> ids;
    for (unsigned small = 0; small < 256; ++small) {
        for (unsigned large = 0; large < 256; ++large) {
            ids.insert(ucp::rail_id_of(
                {static_cast<std::uint8_t>(small), static_cast<std::uint8_t>(large)}));
        }
    }
    CHECK(ids.size() == 256 * 256);
    lone a(true, "lo:127.0.0.1,lo:127.0.0.2,lo:127.0.0.3");
    lone b;
    const ufx_ucp_ep_h ep = a.connect(b);
    REQUIRE(turn({&a, &b}, [&] { return live_lanes(ep) == 3 && b.accepted.size() == 1; }));
    const ucp::peer &b_at_a = *a.w().peers().at(0);
    const ucp::peer &a_at_b = *b.w().peers().at(0);
    REQUIRE(b_at_a.machine().rail_ids() == a_at_b.machine().rail_ids());
    for (const ucp::core::rail_id id : b_at_a.machine().rail_ids()) {
        CHECK(b_at_a.local_index(id) == a_at_b.remote_index(id));
        CHECK(b_at_a.remote_index(id) == a_at_b.local_index(id));
        REQUIRE(b_at_a.local_port(id) != nullptr);
        CHECK(b_at_a.local_port(id)->index() == b_at_a.local_index(id));
    }
}

} // namespace ufx::test
