// SPDX-License-Identifier: BSD-3-Clause
// The thread that reads a device's events beside who destroys queue pairs, ifaces and devices at
// the same moment.
#include "rc_rig.h"
#include "verbs_calls.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

using namespace ufx::test;

namespace {

// Without progress: what is waited for is done by the thread that reads events.
bool eventually(const std::function<bool()> &done)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

size_t count_of(const uct_side &side, ufx_uct_iface_event_type_t type)
{
    return static_cast<size_t>(std::count(side.events.begin(), side.events.end(), type));
}

} // namespace

TEST_CASE("rc: a queue pair is destroyed while an event about it is being read: the destroying "
          "waits for the acknowledgement, and the reader for nothing",
          "[.][hca][threads][M06]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        ufx_uct_ep_h doomed = nullptr;
        REQUIRE(ufx_uct_ep_create(pair.a().iface, nullptr, &doomed) == UFX_OK);
        const int before = destroys_begun();
        const int acknowledged = count_event_reads().acknowledged;
        const held_acknowledgements until_destroyed([&] { return destroys_begun() > before; });
        command(rc_pair::sent_by(doomed) + "event QP_FATAL");
        REQUIRE(eventually(held_acknowledgements::is_waited));
        ufx_uct_ep_destroy(doomed);
        pair.turn(1);
        CHECK(until_destroyed.in_time());
        CHECK(count_event_reads().acknowledged > acknowledged); // it had to be waited for
        CHECK(pair.a().errors == 0);
    });
}

TEST_CASE("rc: ifaces come and go while an event waits for its acknowledgement",
          "[.][hca][threads][M06]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        std::atomic<bool> enough = false;
        const held_acknowledgements until_then([&] { return enough.load(); });
        command("hca mlx5_0 event CLIENT_REREGISTER");
        REQUIRE(eventually(held_acknowledgements::is_waited));
        ufx_uct_iface_params_t params{};
        params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME;
        params.tl_name = resource.tl.c_str();
        params.dev_name = resource.dev.c_str();
        ufx_uct_iface_h second = nullptr;
        REQUIRE(ufx_uct_iface_open(pair.a().md, &params, &second) == UFX_OK);
        ufx_uct_iface_close(second);
        enough = true;
        CHECK(until_then.in_time());
        REQUIRE(eventually([] {
            const event_reads now = count_event_reads();
            return now.acknowledged == now.got;
        }));
    });
}

TEST_CASE("rc: who closes a device waits for its reader of events, who touches nothing afterwards",
          "[.][hca][threads][M16]")
{
    for_each_rc([](const uct_resource &resource) {
        for (int round = 0; round < 3; ++round) {
            event_reads last;
            {
                rc_pair pair(resource, 4096);
                for (const char *event : {"event CLIENT_REREGISTER", "lid 9", "lid 0"}) {
                    command(std::string("hca mlx5_0 ") + event);
                }
                command(rc_pair::sent_by(pair.ep) + "event QP_FATAL");
            }
            last = count_event_reads();
            CHECK(last.acknowledged == last.got);
            // The device is opened anew: a reader that was left behind would read its events.
            rc_pair again(resource, 4096);
            command("hca mlx5_0 event CLIENT_REREGISTER");
            REQUIRE(again.wait([&] { return count_event_reads().got >= last.got + 2; }));
            again.turn(10);
            CHECK(count_event_reads().got == last.got + 2); // one for each of the two sides
        }
    });
}

TEST_CASE(
    "rc: one progress takes a thousand events of one device, reads its port once, and gets to "
    "the port of another one",
    "[.][hca][T11]")
{
    for_each_rc([](const uct_resource &resource) {
        ufx_uct_worker_h worker = nullptr;
        REQUIRE(ufx_uct_worker_create(&worker) == UFX_OK);
        {
            uct_side loud(resource, worker);
            uct_side other(on_device(resource, "mlx5_3"), worker);
            const auto acknowledged = [start = count_event_reads().acknowledged] {
                return count_event_reads().acknowledged - start;
            };
            std::string burst;
            for (int i = 0; i < 20; ++i) {
                burst += "' 'hca mlx5_0 event CLIENT_REREGISTER";
            }
            for (int i = 0; i < 50; ++i) {
                command(burst.substr(3));
            }
            REQUIRE(eventually([&] { return acknowledged() >= 1000; }));
            const int of_burst = acknowledged();
            command("hca mlx5_3 port-down");
            REQUIRE(eventually([&] { return acknowledged() > of_burst; }));
            CHECK(loud.events.empty());
            const int before = count_gid_table_reads();
            ufx_uct_worker_progress(worker);
            // However long a reading takes: there is one for a thousand events.
            CHECK(count_gid_table_reads() == before + 1);
            CHECK(count_of(other, UFX_UCT_IFACE_PORT_DOWN) > 0);
            command("hca mlx5_3 port-up");
        }
        ufx_uct_worker_destroy(worker);
    });
}
