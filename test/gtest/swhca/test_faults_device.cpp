// SPDX-License-Identifier: BSD-3-Clause
// Faults of devices, ports, queues and hosts: what a program sees, and who does not see it.
#include "companion.h"
#include "rig.h"

#include "swhca/engine/membership.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

TEST_CASE("swhca: every asynchronous event can be raised, of its object and its device")
{
    constexpr uint64_t qp = 0x90, cq = 0xc0, srq = 0x50, port = 1;
    struct {
        const char *name;
        uint32_t type; // enum ibv_event_type
        uint64_t element;
    } cases[] = {
        {"CQ_ERR", 0, cq},
        {"QP_FATAL", 1, qp},
        {"QP_REQ_ERR", 2, qp},
        {"QP_ACCESS_ERR", 3, qp},
        {"COMM_EST", 4, qp},
        {"SQ_DRAINED", 5, qp},
        {"PATH_MIG", 6, qp},
        {"PATH_MIG_ERR", 7, qp},
        {"DEVICE_FATAL", 8, port},
        {"PORT_ACTIVE", 9, port},
        {"PORT_ERR", 10, port},
        {"LID_CHANGE", 11, port},
        {"PKEY_CHANGE", 12, port},
        {"SM_CHANGE", 13, port},
        {"SRQ_ERR", 14, srq},
        {"SRQ_LIMIT_REACHED", 15, srq},
        {"QP_LAST_WQE_REACHED", 16, qp},
        {"CLIENT_REREGISTER", 17, port},
        {"GID_CHANGE", 18, port},
    };
    pair on;
    shared_queue there(on.a, 8);
    shared_queue elsewhere(on.b, 8);
    for (const auto &each : cases) {
        CAPTURE(each.name);
        on.fabric.fault(std::string("hca 0 event ") + each.name);
        on.fabric.step();
        auto told = on.a.next_event();
        REQUIRE(told);
        CHECK(told->type == each.type);
        CHECK(told->element == each.element);
        CHECK_FALSE(on.a.next_event());
        CHECK_FALSE(on.b.next_event());
    }
    CHECK(on.left.state() == rts); // an event alone does nothing
}

TEST_CASE("swhca: a GID is added, changed and taken away, with its event or without")
{
    pair on;
    const swhca::gid *gids = on.fabric.shared().hcas[1].port.gids;
    std::string silent = GENERATE(as<std::string>(), "", " silent");
    auto told = [&] {
        auto event = on.b.next_event();
        CHECK_FALSE(on.b.next_event());
        return event.has_value() && event->type == 18; // IBV_EVENT_GID_CHANGE
    };
    on.fabric.fault("hca 1 gid 3 fe80::1:2" + silent);
    on.fabric.step();
    CHECK(gids[3].raw[0] == 0xfe);
    CHECK(gids[3].raw[15] == 2);
    CHECK(told() == silent.empty());
    // The peer's packets go to a GID that nobody has any more.
    on.fabric.fault("hca 1 gid 1 10.77.0.99" + silent);
    on.left.write(on.from, 64, on.to);
    on.fabric.step();
    CHECK(gids[1].raw[11] == 0xff);
    CHECK(gids[1].raw[15] == 99);
    CHECK(told() == silent.empty());
    CHECK(on.right.query().rq_psn == 100);
    on.fabric.fault("hca 1 clear-gid 3" + silent);
    on.fabric.step();
    CHECK(gids[3] == swhca::gid{});
    CHECK(told() == silent.empty());
    on.fabric.fault("hca 1 gid 1 10.77.0.2" + silent);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.left.inside().counters.timeouts >= 1);
    CHECK_FALSE(on.a.next_event());
}

TEST_CASE("swhca: one CQ is stalled, and the others of its device go on")
{
    pair on;
    device second(on.fabric, 0);
    endpoint left(second);
    endpoint right(on.b);
    connect_both(left, right);
    region from = second.make_region(64, all_access);
    on.fabric.fault("stall-cq " + std::to_string(on.a.cq + 1)); // its CQN
    on.fabric.step();
    on.left.write(on.from, 64, on.to);
    left.write(from, 64, on.to);
    on.fabric.step();
    CHECK(second.poll());
    CHECK_FALSE(on.a.poll());
    on.fabric.fault("unstall-cq " + std::to_string(on.a.cq + 1));
    on.fabric.step();
    CHECK(on.a.poll());
}

TEST_CASE("swhca: an error completion has its syndrome, and ends its QP as in hardware")
{
    pair on;
    bool receives = GENERATE(true, false);
    CAPTURE(receives);
    on.right.receive(on.to, 0, 64);
    on.right.receive(on.to, 64, 64);
    on.left.send(on.from, 64);
    on.left.send(on.from, 64);
    on.fabric.fault(receives ? "error-cqe 0x04 responses count 1"
                             : "error-cqe 0x14 requests count 1");
    on.fabric.step();
    device &hit = receives ? on.b : on.a;
    endpoint &failed = receives ? on.right : on.left;
    cqe first = on.wait(hit);
    CHECK(first.opcode == (receives ? 14 : 13));
    CHECK(first.syndrome == (receives ? 0x04 : 0x14));
    CHECK(on.wait(hit).syndrome == 0x05);
    CHECK_FALSE(hit.poll());
    CHECK(failed.state() == err);
}

TEST_CASE("swhca: a completion that is an error anyway stays what it is but for its syndrome")
{
    pair on;
    region bad = on.to;
    bad.key++;
    on.fabric.fault("error-cqe 0x02 requests count 1");
    on.left.write(on.from, 64, bad);
    cqe failed = on.wait(on.a);
    CHECK(failed.opcode == 13);
    CHECK(failed.syndrome == 0x02);
}

TEST_CASE("swhca: a QP goes to ERR behind its owner's back, and its peer finds out by its timer")
{
    pair on;
    endpoint second(on.b);
    endpoint third(on.a);
    connect_both(second, third);
    on.right.receive(on.to, 0, 64);
    on.fabric.fault("hca 1 qp-error qpn " + std::to_string(on.right.qpn));
    on.fabric.step();
    CHECK(on.right.state() == err);
    CHECK(second.state() == rts);
    CHECK(on.left.state() == rts);
    cqe flushed = on.wait(on.b);
    CHECK(flushed.opcode == 14);
    CHECK(flushed.syndrome == 0x05);
    CHECK_FALSE(on.b.next_event());
    uint64_t before = on.fabric.now_ns;
    on.left.write(on.from, 64, on.to);
    CHECK(on.wait(on.a).syndrome == 0x15);
    CHECK(on.fabric.now_ns - before >= 4 * (4096ull << 10));
    CHECK(on.to.bytes[0] == 0);
}

TEST_CASE("swhca: rate and latency of a port change while it works")
{
    qp_settings patient;
    patient.timeout = 18;
    pair on(patient);
    auto takes = [&](uint32_t size) {
        uint64_t before = on.fabric.now_ns;
        on.left.write(on.from, size, on.to);
        REQUIRE(on.wait(on.a).syndrome == 0);
        return on.fabric.now_ns - before;
    };
    CHECK(takes(1 << 20) <= 20'000);
    on.fabric.fault("hca 0 rate 1Gb/s");
    uint64_t slow = takes(1 << 20); // 8.39 ms
    CHECK(slow >= 8'388'000);
    CHECK(slow <= 8'800'000);
    on.fabric.fault("hca 0 rate 0b/s"); // as fast as it goes
    on.fabric.fault("hca 0 latency 300us");
    uint64_t late = takes(8);
    CHECK(late >= 300'000);
    CHECK(late <= 340'000);
    on.fabric.fault("hca 1 latency 200us"); // the answer's way
    CHECK(takes(8) >= 500'000);
    on.fabric.fault("latency 0ns");
    CHECK(takes(8) <= 20'000);
}

TEST_CASE("swhca: a host dies: its processes vanish, and its peer is told nothing")
{
    rig on;
    device a(on, 0);
    companion child(on, open_second_device);
    REQUIRE(child.talk().hear() == 1);
    on.fault("host-death hca 1");
    on.step();
    int status = child.wait();
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
    CHECK_FALSE(a.next_event());
    CHECK(on.shared().hcas[1].port.state == on.shared().hcas[0].port.state);
    CHECK(swhca::reap_dead(on.shared(), 0, on.now_ns) == 1);
}

} // namespace ufx::test
