// SPDX-License-Identifier: BSD-3-Clause
// Processes whose memory others cannot reach, or must not: the kernel forbids it, or their pid is
// somebody else's by now.
#include "companion.h"
#include "rig.h"

#include "common/skip.h"
#include "swhca/engine/membership.h"
#include "swhca/engine/process_memory.h"
#include "swhca/fabric/liveness.h"

#include <catch2/catch.hpp>
#include <sys/prctl.h>
#include <unistd.h>

namespace ufx::test {

namespace {

using namespace swhca;

constexpr uid_t nobody = 65534;
constexpr uint64_t quit = 1, close_memory = 2, step = 20'000; // or any other number of ns

void become_nobody(bool open)
{
    if (::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0) {
        ::_exit(3);
    }
    ::prctl(PR_SET_DUMPABLE, open ? 1 : 0);
}

// Does what it is told, one pass at a time.
void obey(rig &mine, line &to)
{
    for (uint64_t word = to.hear(); word > quit; word = to.hear()) {
        if (word == close_memory) {
            ::prctl(PR_SET_DUMPABLE, 0);
        } else {
            mine.step_woken(word);
        }
        to.say(1);
    }
}

// Tells of its QP and its memory, and hears of the other's.
void meet(endpoint &own, region &memory, line &to, uint32_t hca, region &theirs)
{
    to.say(own.qpn);
    to.say(memory.key);
    to.say(memory.at());
    auto qpn = static_cast<uint32_t>(to.hear());
    theirs.key = static_cast<uint32_t>(to.hear());
    theirs.start = to.hear();
    own.connect_to(hca, qpn);
}

// Only receives; says at the end whether all that was sent is there.
void be_passive(rig &mine, line &to)
{
    device yours(mine, 1);
    endpoint own(yours);
    region memory = yours.make_region(16384, all_access);
    region theirs;
    own.receive(memory, 8192, 1024);
    yours.arm();
    meet(own, memory, to, 0, theirs);
    obey(mine, to);
    auto received = yours.poll();
    bool well = received && received->opcode == 2 && received->bytes == 300 &&
                memory.bytes[0] == 7 + 5 && memory.bytes[4999] == 7 && memory.bytes[8192] == 7 &&
                memory.bytes[8192 + 299] == 7 && yours.next_completion_event();
    to.say(well ? 2 : 1);
}

// Sends, one of a kind; says at each step how many have completed, and at the end whether well.
void be_active(rig &mine, line &to)
{
    device yours(mine, 0);
    endpoint own(yours);
    region memory = yours.make_region(16384, all_access);
    std::fill(memory.bytes.begin(), memory.bytes.end(), uint8_t{7});
    region theirs;
    meet(own, memory, to, 1, theirs);
    own.write(memory, 5000, theirs);
    own.send(memory, 300);
    own.fetch_add(memory, theirs, 5);
    own.read(memory, 5000, theirs);
    uint64_t completed = 0;
    bool well = true;
    for (uint64_t word = to.hear(); word > quit; word = to.hear()) {
        mine.step(word);
        while (auto done = yours.poll()) {
            completed++;
            well = well && done->syndrome == 0;
        }
        to.say(completed + 1);
    }
    to.say(well && memory.bytes[0] == 7 + 5 && memory.bytes[4999] == 7 ? 2 : 1);
}

void introduce(const line &one, const line &other)
{
    uint64_t words[3];
    for (auto [from, to] : {std::pair(&one, &other), std::pair(&other, &one)}) {
        for (uint64_t &each : words) {
            each = from->hear();
        }
        for (uint64_t each : words) {
            to->say(each);
        }
    }
}

void steps(const companion &active, const companion &passive, uint64_t completions)
{
    constexpr int limit = 5000;
    uint64_t completed = 0;
    for (int i = 0; i < limit && completed < completions; i++) {
        active.talk().say(step);
        completed = active.talk().hear() - 1;
        passive.talk().say(step);
        REQUIRE(passive.talk().hear() == 1);
    }
    CHECK(completed >= completions);
}

bool refuses(rig &world, const companion &of, const companion &to)
{
    return (world.shared().processes[of.slot()].refused_to.load() >> to.slot() & 1) != 0;
}

} // namespace

TEST_CASE("swhca: packets to a process whose memory is closed go through the fabric")
{
    if (::geteuid() != 0) {
        skip("only root can be somebody else");
    }
    rig world;
    bool active_open = GENERATE(true, false);
    companion passive(world, be_passive, [] { become_nobody(false); });
    companion active(world, be_active, [active_open] { become_nobody(active_open); });
    introduce(active.talk(), passive.talk());
    steps(active, passive, 4);
    CHECK(refuses(world, passive, active));
    CHECK(refuses(world, active, passive) == !active_open);
    CHECK(closed_peer(world.shared(), active.slot()) == passive.pid());
    for (const companion *each : {&active, &passive}) {
        each->talk().say(quit);
        CHECK(each->talk().hear() == 2);
    }
}

TEST_CASE("swhca: a process that closes its memory between two packets loses none for good")
{
    if (::geteuid() != 0) {
        skip("only root can be somebody else");
    }
    rig world;
    uint64_t before = GENERATE(0u, 1u, 2u, 3u);
    world.fault("delay 40us"); // so that some are under way
    companion passive(world, be_passive, [] { become_nobody(true); });
    companion active(world, be_active, [] { become_nobody(true); });
    introduce(active.talk(), passive.talk());
    active.talk().say(step); // now each has found that it reaches the other
    REQUIRE(active.talk().hear() > 0);
    steps(active, passive, before);
    passive.talk().say(close_memory);
    REQUIRE(passive.talk().hear() == 1);
    steps(active, passive, 4);
    for (const companion *each : {&active, &passive}) {
        each->talk().say(quit);
        CHECK(each->talk().hear() == 2);
    }
}

TEST_CASE("swhca: a completion that was due when a process closed its memory is written by itself")
{
    if (::geteuid() != 0) {
        skip("only root can be somebody else");
    }
    rig world;
    auto open = [] { become_nobody(true); };
    companion sender(
        world,
        [](rig &mine, line &to) {
            device yours(mine, 1);
            endpoint own(yours);
            region memory = yours.make_region(64, all_access);
            qp_settings no_retries;
            no_retries.retry_count = 0;
            own.connect_to(0, 0x999, 100, no_retries); // who is not there
            own.write(memory, 64, memory);
            mine.step();
            to.say(1);
            obey(mine, to);
            auto done = yours.poll();
            to.say(done && done->syndrome == 0x15 ? 2 : 1);
        },
        open);
    REQUIRE(sender.talk().hear() == 1);
    companion other(world, obey, open);
    auto tell = [](const companion &whom, uint64_t what) {
        whom.talk().say(what);
        REQUIRE(whom.talk().hear() == 1);
    };
    tell(other, step); // and so finds that it reaches the sender
    tell(sender, close_memory);
    tell(other, 5'000'000); // more than the timeout
    CHECK(world.shared().held_cqe_count == 1);
    tell(sender, step);
    CHECK(world.shared().held_cqe_count == 0);
    sender.talk().say(quit);
    CHECK(sender.talk().hear() == 2);
}

TEST_CASE("swhca: what others may not do to a process, its own engine does at its next pass")
{
    rig world;
    companion child(world, [](rig &mine, line &to) {
        device yours(mine, 1);
        endpoint own(yours);
        region memory = yours.make_region(64, all_access);
        own.receive(memory, 0, 64);
        own.connect_to(0, 0x48);
        mine.step();
        to.say(1);
        obey(mine, to);
        uint64_t seen = 1;
        auto told = yours.next_event();
        seen += told && told->type == 13 ? 1 : 0; // IBV_EVENT_SM_CHANGE
        auto flushed = yours.poll();
        seen += flushed && flushed->syndrome == 5 && own.state() == err ? 2 : 0;
        to.say(seen);
    });
    REQUIRE(child.talk().hear() == 1);
    process_slot &slot = world.shared().processes[child.slot()];
    slot.reached_by = 0;
    slot.refused_to = ~0ull;
    world.fault("event SM_CHANGE hca 1");
    world.fault("qp-error hca 1");
    world.step();
    CHECK(world.shared().late_event_count == 1);
    child.talk().say(step);
    REQUIRE(child.talk().hear() == 1);
    CHECK(world.shared().late_event_count == 0);
    child.talk().say(quit);
    CHECK(child.talk().hear() == 4);
}

TEST_CASE("swhca: events that nobody could write are forgotten with their process")
{
    rig world;
    companion child(world, [](rig &mine, line &to) {
        device yours(mine, 1);
        to.say(1);
        (void)to.hear();
    });
    REQUIRE(child.talk().hear() == 1);
    world.shared().processes[child.slot()].reached_by = 0;
    world.shared().processes[child.slot()].refused_to = ~0ull;
    world.fault("event SM_CHANGE hca 1");
    REQUIRE(world.shared().late_event_count == 1);
    (void)child.kill();
    CHECK(reap_dead(world.shared(), world.self(), world.now_ns) == 1);
    CHECK(world.shared().late_event_count == 0);
}

TEST_CASE("swhca: nothing is written by the pid of a process that has died")
{
    rig world;
    companion child(world, [](rig &, line &to) { (void)to.hear(); });
    process_slot &slot = world.shared().processes[child.slot()];
    CHECK(lives(slot));
    process_memory memory(world.shared(), world.self());
    CHECK(memory.reaches(child.slot()));
    (void)child.kill();
    slot.pid = slot.owner = ::getpid(); // somebody else's by now
    uint64_t mine = 1;
    uint64_t other = 2;
    auto at = reinterpret_cast<uintptr_t>(&mine);
    CHECK_FALSE(lives(slot));
    CHECK_FALSE(memory.write(child.slot(), at, &other, sizeof(other)));
    CHECK_FALSE(memory.read(child.slot(), at, &other, sizeof(other)));
    CHECK(mine == 1);
    slot.owner = 0;
    CHECK(reap_dead(world.shared(), world.self(), world.now_ns) == 1);
    CHECK_FALSE(slot.in_use);
}

TEST_CASE("swhca: a pid of another namespace is not touched")
{
    rig world;
    companion child(world, [](rig &, line &to) { (void)to.hear(); });
    world.shared().processes[child.slot()].pid_namespace++;
    process_memory memory(world.shared(), world.self());
    CHECK_FALSE(memory.reaches(child.slot()));
    device other(world, 0);
    context &opened = world.shared().contexts[other.context];
    opened.process = child.slot();
    world.fault("host-death hca 0");
    world.step();
    opened.process = world.self();
    world.shared().processes[child.slot()].pid_namespace--;
    CHECK(child.pid() > 0);
    child.talk().say(quit);
    CHECK(child.wait() == 0); // it was not killed
}

} // namespace ufx::test
