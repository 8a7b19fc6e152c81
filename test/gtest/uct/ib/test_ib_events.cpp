// SPDX-License-Identifier: BSD-3-Clause
// What RC ifaces make of the events of their device: read, acknowledged, told to whom they concern.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "ucs/log_capture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <climits>
#include <cstring>
#include <poll.h>

using namespace ufx::test;

namespace {

bool works(rc_pair &pair)
{
    counted done;
    return pair.put(0, 64, done) == UFX_INPROGRESS && pair.wait([&] { return done.done(); }) &&
           done.result == UFX_OK;
}

// Sets a variable of all RDMA transports for what is opened meanwhile.
class ib_setting {
public:
    ib_setting(const char *name, const char *value) : name_(name) { ::setenv(name, value, 1); }

    ~ib_setting() { ::unsetenv(name_); }

    ib_setting(const ib_setting &) = delete;
    ib_setting &operator=(const ib_setting &) = delete;

private:
    const char *name_;
};

size_t count_of(const uct_side &side, ufx_uct_iface_event_type_t type)
{
    return static_cast<size_t>(std::count(side.events.begin(), side.events.end(), type));
}

// GID 1 is the one in use, 10.77.0.1 on mlx5_0.
constexpr const char *own_gid = "hca mlx5_0 gid 1 10.77.0.1";

} // namespace

TEST_CASE("rc: events are read until there are none, also after a signal, each acknowledged once",
          "[.][hca][T10]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        const event_reads before = count_event_reads();
        interrupt_next_event_read();
        command("hca mlx5_0 lid 7");
        command("hca mlx5_0 lid 0");
        for (int i = 0; i < 4; ++i) {
            command("hca mlx5_0 event CLIENT_REREGISTER");
        }
        // Both sides have a device that is opened twice.
        REQUIRE(pair.wait([&] { return count_event_reads().got - before.got >= 12; }));
        REQUIRE(pair.wait([&] {
            const event_reads now = count_event_reads();
            return now.acknowledged == now.got && now.found_none > before.found_none;
        }));
        CHECK(works(pair));
    });
}

TEST_CASE("rc: an event of the port that was lost is made up for, both ways", "[.][hca][T12]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        command("hca mlx5_0 port-down silent");
        REQUIRE(pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_PORT_DOWN) == 1; }));
        command("hca mlx5_0 port-up silent");
        REQUIRE(pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_PORT_UP) == 1; }));
        CHECK(pair.a().errors == 0);
        CHECK(works(pair));
    });
}

TEST_CASE("rc: without a thread that reads events, progress does, and who sleeps is woken by them",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const ib_setting progress_reads("UFX_IB_EVENT_THREAD", "n");
        rc_pair pair(resource);
        CHECK(works(pair));
        int fd = -1;
        REQUIRE(ufx_uct_iface_event_fd_get(pair.a().iface, &fd) == UFX_OK);
        REQUIRE(pair.wait(
            [&] { return ufx_uct_iface_event_arm(pair.a().iface, UFX_UCT_EVENT_RECV) == UFX_OK; }));
        const int reads = count_event_reads().got;
        command("hca mlx5_0 port-down");
        pollfd woken{fd, POLLIN, 0};
        REQUIRE(::poll(&woken, 1, 10000) == 1);
        CHECK(count_event_reads().got == reads);
        REQUIRE(pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_PORT_DOWN) == 1; }));
        command("hca mlx5_0 port-up silent"); // is seen when progress looks at the ports
        REQUIRE(pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_PORT_UP) == 1; }));
        CHECK(works(pair));
    });
}

TEST_CASE("rc: the port's addresses are read again on its events, and before they are handed out",
          "[.][hca][T13]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        const auto first = pair.a().device_address();
        command("hca mlx5_0 gid 1 10.77.0.99 silent");
        CHECK(pair.a().device_address() != first);
        pair.turn(1);
        CHECK(count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == 1);
        command(std::string(own_gid) + " silent");
        CHECK(pair.a().device_address() == first);
        pair.turn(1);
        size_t told = count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED);
        CHECK(told == 2);
        for (const char *event :
             {"GID_CHANGE", "LID_CHANGE", "PORT_ACTIVE", "CLIENT_REREGISTER", "PKEY_CHANGE"}) {
            INFO(event);
            for (const char *gid : {"hca mlx5_0 gid 1 10.77.0.99", own_gid}) {
                command(std::string(gid) + " silent");
                command(std::string("hca mlx5_0 event ") + event);
                ++told;
                REQUIRE(pair.wait(
                    [&] { return count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == told; }));
            }
        }
        CHECK(pair.a().device_address() == first);
    });
}

TEST_CASE("rc: a LID that changes is a change of address, also where the GID is given; the port "
          "stays usable",
          "[.][hca][G02][G03]")
{
    for_each_rc([](const uct_resource &resource) {
        for (const char *index : {"-1", "1"}) {
            const ib_setting given("UFX_IB_GID_INDEX", index);
            rc_pair pair(resource);
            for (const char *lid : {"hca mlx5_0 lid 9", "hca mlx5_0 lid 0"}) {
                const size_t before = count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED);
                command(lid);
                REQUIRE(pair.wait(
                    [&] { return count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == before + 1; }));
                ufx_uct_iface_attr_t attr{};
                REQUIRE(ufx_uct_iface_query(pair.a().iface, &attr) == UFX_OK);
                CHECK(attr.port_active == 1);
                CHECK(works(pair));
            }
        }
    });
}

TEST_CASE("rc: a GID that is not in use may change, and one line says so", "[.][hca][G13]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        const auto first = pair.a().device_address();
        const ufx::ucs::log_capture log;
        command("hca mlx5_0 gid 5 10.77.0.55");
        REQUIRE(
            pair.wait([&] { return log.count(UFX_UCS_LOG_INFO, "in use") == 2; })); // two ifaces
        command("hca mlx5_0 clear-gid 5");
        REQUIRE(pair.wait([&] { return log.count(UFX_UCS_LOG_INFO, "in use") == 4; }));
        CHECK(count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == 0);
        CHECK(pair.a().device_address() == first);
    });
}

TEST_CASE("rc: a port without a usable GID has no address until one is back, which is noticed",
          "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        const ib_setting given("UFX_IB_GID_INDEX", "1");
        rc_pair pair(resource);
        const auto first = pair.a().device_address();
        {
            const ufx::ucs::log_capture log;
            command("hca mlx5_0 clear-gid 1");
            REQUIRE(pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == 1; }));
            CHECK(log.count(UFX_UCS_LOG_ERROR, "GID") >= 1);
            uint8_t address[64];
            CHECK(ufx_uct_iface_get_device_address(pair.a().iface, address) == UFX_ERR_NO_DEVICE);
        }
        command(std::string(own_gid) + " silent");
        REQUIRE(pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == 2; }));
        CHECK(pair.a().device_address() == first);
    });
}

TEST_CASE(
    "rc: each way in which reading a port can fail is told as an error, leaves no address, and is "
    "tried again",
    "[.][hca][G01]")
{
    for_each_rc([](const uct_resource &resource) {
        struct {
            const char *call;
            const char *text;
        } const ways[] = {{"ibv_query_port", "the port cannot be queried"},
                          {"_ibv_query_gid_ex", "no GID"}};
        for (const auto &[call, text] : ways) {
            INFO(call);
            rc_pair pair(resource);
            const auto first = pair.a().device_address();
            {
                const ufx::ucs::log_capture log;
                const failing_call failing(call, EIO, 0, INT_MAX);
                command("hca mlx5_0 event GID_CHANGE");
                REQUIRE(
                    pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == 1; }));
                CHECK(log.count(UFX_UCS_LOG_ERROR, text) >= 1);
                uint8_t address[64];
                CHECK(ufx_uct_iface_get_device_address(pair.a().iface, address) ==
                      UFX_ERR_NO_DEVICE);
            }
            // No event: it is tried again, and what comes of it is a change.
            REQUIRE(pair.wait([&] { return count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == 2; }));
            CHECK(pair.a().device_address() == first);
            pair.turn(1);
            CHECK(count_of(pair.a(), UFX_UCT_IFACE_ADDR_CHANGED) == 2); // unchanged since
        }
    });
}

TEST_CASE("rc: the error of a completion queue fails the eps that use it and no others",
          "[.][hca][M02]")
{
    for_each_rc([](const uct_resource &resource) {
        const size_t made = created_cqs().size();
        rc_pair pair(resource);
        const auto second = pair.connect();
        counted of_a;
        counted of_b[2];
        command("hca mlx5_0 stall-cq");
        REQUIRE(ufx_uct_ep_check(pair.ep, &of_a) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_check(pair.peer, &of_b[0]) == UFX_INPROGRESS);
        REQUIRE(ufx_uct_ep_check(second.b, &of_b[1]) == UFX_INPROGRESS);
        REQUIRE(created_cqs().size() == made + 4); // of a, then of b: requests, receives
        // The reader of each md gets an event; the one whose queue is meant takes it as its own.
        ibv_cq *broken = created_cqs()[made + 2];
        change_next_event(2, [broken](ibv_async_event &event) {
            event.event_type = IBV_EVENT_CQ_ERR;
            event.element.cq = broken;
        });
        command("hca mlx5_0 event CLIENT_REREGISTER");
        REQUIRE(pair.wait([&] { return pair.b().errors == 2; }));
        CHECK(pair.b().error_cause == UFX_UCT_CAUSE_DEVICE_FATAL);
        CHECK(pair.b().events.back() == UFX_UCT_IFACE_DEVICE_FATAL);
        REQUIRE(pair.wait([&] { return of_b[0].done() && of_b[1].done(); }));
        CHECK(of_b[0].result < 0);
        CHECK(of_b[1].result < 0);
        CHECK(of_a.calls == 0);
        command("hca mlx5_0 unstall-cq");
        REQUIRE(pair.wait([&] { return of_a.done(); }));
        CHECK(of_a.result == UFX_OK);
        CHECK(pair.a().errors == 0);
        CHECK(state_of(pair.ep) == UFX_UCT_EP_LIVE);
    });
}

TEST_CASE("rc: a completion that comes after its ep has failed changes nothing", "[.][hca][M11]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        counted done;
        command(rc_pair::sent_by(pair.ep) + "hold-cqe 50ms count 1");
        REQUIRE(pair.put(0, 64, done) == UFX_INPROGRESS);
        REQUIRE(pair.landed(0, 64));
        REQUIRE(ufx_uct_iface_set_link(pair.a().iface, 0) == UFX_OK);
        REQUIRE(pair.wait([&] { return pair.a().errors == 1; }));
        pair.close_source(); // when the completion and those behind it have come
        CHECK(state_of(pair.ep) == UFX_UCT_EP_DEFERRED);
        CHECK(done.calls == 0);
        CHECK(outstanding(pair.ep) == 1);
        CHECK(ufx_uct_ep_put_short(pair.ep, "x", 1, pair.target.addr(), pair.target.rkey) < 0);
        const auto all = pair.purge(pair.close_target());
        REQUIRE(all.size() == 1);
        CHECK(all[0].verdict == UFX_UCT_VERDICT_LANDED);
        CHECK(done.calls == 0);
    });
}

TEST_CASE("rc: requests are completed while a message waits at every poll", "[.][hca][L06]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting one_at_a_time(resource, "CQ_POLL", "1");
        rc_pair pair(resource);
        inbox received(pair.b().iface, 5);
        size_t sent = 0;
        while (ufx_uct_ep_am_short(pair.ep, 5, 1, nullptr, 0) == UFX_OK) {
            ++sent;
        }
        counted done;
        REQUIRE(ufx_uct_ep_am_short(pair.peer, 6, 1, nullptr, 0) == UFX_OK);
        REQUIRE(ufx_uct_ep_flush(pair.peer, UFX_UCT_FLUSH_REMOTE, &done) == UFX_INPROGRESS);
        size_t polls = 0;
        while (!done.done() && received.messages.size() < sent) {
            ufx_uct_iface_progress(pair.b().iface);
            ++polls;
        }
        CHECK(received.messages.size() == polls); // the receive queue was never empty
        CHECK(polls < sent);
        CHECK(done.done());
        CHECK(done.result == UFX_OK);
        REQUIRE(pair.wait([&] { return received.messages.size() == sent; }));
    });
}

TEST_CASE("rc: a full queue refuses without a trace, and goes on when there is room",
          "[.][hca][L01]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting short_queue(resource, "TX_QUEUE", "16");
        rc_pair pair(resource);
        command("hca mlx5_0 stall-cq");
        pack_source source{pair.data.bytes.data(), 300};
        std::vector<std::unique_ptr<counted>> accepted;
        int copied = 0;
        for (int i = 0; i < 100; ++i) {
            auto done = std::make_unique<counted>();
            const ufx_status_t status = pair.put(0, 64, *done);
            if (status == UFX_INPROGRESS) {
                accepted.push_back(std::move(done));
            } else {
                CHECK(status == UFX_ERR_NO_RESOURCE);
                CHECK(done->calls == 0);
            }
            copied += ufx_uct_ep_put_bcopy(pair.ep, pack_source::pack, &source, pair.target.addr(),
                                           pair.target.rkey) == 300
                          ? 1
                          : 0;
        }
        CHECK(accepted.size() + static_cast<size_t>(copied) < 100);
        CHECK(source.calls == copied); // nothing was packed in vain
        CHECK(outstanding(pair.ep) == accepted.size() + static_cast<size_t>(copied));
        command("hca mlx5_0 unstall-cq");
        pair.flush();
        for (const auto &one : accepted) {
            CHECK(one->calls == 1);
        }
        CHECK(outstanding(pair.ep) == 0);
        CHECK(works(pair));
    });
}
