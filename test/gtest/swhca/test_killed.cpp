// SPDX-License-Identifier: BSD-3-Clause
// A process is killed at one store after the other while it runs the devices: nobody may be wedged,
// nothing may be left, and each work request of those who live completes once.
#include "companion.h"
#include "killer.h"
#include "rig.h"

#include "swhca/engine/membership.h"
#include "swhca/fabric/repair.h"
#include "swhca/model/send_ring.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

namespace {

using namespace swhca;

constexpr uint8_t err = 6;
// First what is wrong with the image, or an empty string.
std::string wrong_links(image &shared)
{
    std::set<uint32_t> seen;
    uint64_t due_ns = 0;
    uint32_t before = no_index;
    for (uint32_t i = shared.wire_head; i != no_index; i = shared.packets[i].next) {
        const packet_slot &slot = shared.packets[i];
        if (!seen.insert(i).second || slot.prev != before || !slot.queued || slot.due_ns < due_ns) {
            return "the list of packets is torn";
        }
        due_ns = slot.due_ns;
        before = i;
    }
    if (before != shared.wire_tail || seen.size() != shared.wire_used) {
        return "the list of packets has a wrong end";
    }
    for (uint32_t i = shared.wire_free; i != no_index; i = shared.packets[i].next) {
        if (!seen.insert(i).second || shared.packets[i].queued) {
            return "the list of free packets is torn";
        }
    }
    return seen.size() == shared.wire_fresh ? "" : "packets are in no list";
}

std::string wrong_counts(image &shared)
{
    std::map<uint32_t, uint32_t> pds;
    std::map<uint32_t, uint32_t> cqs;
    for (const mr &each : shared.mrs) {
        pds[each.pd] += each.in_use ? 1 : 0;
    }
    for (uint32_t i = 0; i < max_qps; i++) {
        const qp &each = shared.qps[i];
        if (each.in_use) {
            pds[each.pd]++;
            cqs[each.send_cq]++;
            cqs[each.recv_cq]++;
        }
        bool named = each.in_use && shared.hcas[each.hca].qp_of[each.qpn % max_qps] == i + 1;
        if (each.in_use != named || shared.processes[1].qps.has(i)) {
            return "a QP has not its number";
        }
    }
    for (const srq &each : shared.srqs) {
        pds[each.pd] += each.in_use ? 1 : 0;
    }
    for (uint32_t i = 0; i < max_pds; i++) {
        if (shared.pds[i].in_use && shared.pds[i].users != pds[i]) {
            return "a PD counts " + std::to_string(shared.pds[i].users) + " users";
        }
    }
    for (uint32_t i = 0; i < max_cqs; i++) {
        if (shared.cqs[i].in_use && shared.cqs[i].users != cqs[i]) {
            return "a CQ counts " + std::to_string(shared.cqs[i].users) + " users";
        }
    }
    return "";
}

std::string left_over(image &shared)
{
    auto used = [](const auto &table) {
        return std::count_if(std::begin(table), std::end(table),
                             [](const auto &each) { return each.in_use; });
    };
    // What is there belongs to the first process: a device of the rig, and one QP.
    return used(shared.processes) == 1 && used(shared.contexts) == 1 && used(shared.pds) == 1 &&
                   used(shared.channels) == 1 && used(shared.cqs) == 1 && used(shared.qps) == 1 &&
                   used(shared.srqs) == 0 && used(shared.mrs) == 1
               ? ""
               : "something of the dead process is left";
}

enum class when : uint8_t { AT_WORK, WHILE_MAKING, WHILE_LEAVING };

// One life and death.
class life {
public:
    explicit life(const fabric_options &options)
        : world_(options), mine_(world_, 1), here_(mine_.make_region(bytes, 7)), one_(mine_)
    {
        there_.bytes.resize(bytes);
    }

    // Kills the other process before its store number `stores`; how many stores there were if it
    // was unharmed, else 0.
    uint64_t ends_at(uint64_t stores, when kill)
    {
        companion other(world_, [&](rig &theirs, line &to) { live(theirs, to, stores, kill); });
        if (kill == when::AT_WORK) {
            there_.key = static_cast<uint32_t>(other.talk().hear());
            auto qpn = static_cast<uint32_t>(other.talk().hear());
            REQUIRE(qpn != 0);
            one_.connect_to(0, qpn);
            post();
            other.talk().say(1);
        }
        int status = other.wait();
        REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
        return other.talk().hear();
    }

    // What the first process sees afterwards.
    std::string verdict()
    {
        world_.step();
        (void)reap_dead(world_.shared(), 0, world_.now_ns);
        world_.step();
        image &shared = world_.shared();
        for (const std::string &wrong :
             {wrong_links(shared), wrong_counts(shared), left_over(shared)}) {
            if (!wrong.empty()) {
                return wrong;
            }
        }
        if (posted_ > 0) {
            bool ended = world_.until(
                [&] {
                    collect();
                    return one_.state() == err || sends_.size() == posted_;
                },
                1'000'000);
            if (!ended) {
                return "a QP waits for ever";
            }
            (void)one_.to_state(err);
            world_.step();
            collect();
            if (sends_.size() != posted_ || received_.size() != receives || twice_) {
                return std::to_string(sends_.size()) + " of " + std::to_string(posted_) +
                       " sends, " + std::to_string(received_.size()) + " of " +
                       std::to_string(receives) + " receives completed" +
                       (twice_ ? ", one twice" : "");
            }
        }
        return works() ? "" : "the fabric works no more";
    }

private:
    static constexpr size_t bytes = 8192;
    static constexpr uint32_t receives = 6;
    static constexpr int passes = 5;

    void post()
    {
        for (uint32_t i = 0; i < receives; i++) {
            one_.receive(here_, i * 512, 512);
        }
        one_.write(here_, 3000, there_, 4096);
        one_.send(here_, 100);
        one_.read(here_, 2500, there_);
        one_.write(here_, 8, there_);
        posted_ = 4;
        scan();
    }

    // The doorbells are seen, but the work is left to the other process.
    void scan() { (void)engine(world_.shared(), 0).scan_doorbells(); }

    void collect()
    {
        while (auto done = mine_.poll()) {
            bool send = done->opcode == 0 || done->opcode == 13;
            bool fresh = (send ? sends_ : received_).insert(done->counter).second;
            twice_ = twice_ || !fresh;
        }
    }

    // Two new QPs of the first process talk.
    bool works()
    {
        device left(world_, 0);
        endpoint a(left);
        endpoint b(mine_);
        connect_both(a, b);
        region from = left.make_region(64, 7);
        from.bytes[0] = 0x5a;
        a.write(from, 64, here_);
        std::optional<cqe> done;
        bool well = world_.until([&] { return (done = left.poll()).has_value(); }) &&
                    done->opcode == 0 && here_.bytes[0] == 0x5a;
        return a.destroy() == 0 && b.destroy() == 0 && well;
    }

    void end(line &to, uint64_t stores, const std::function<void()> &work)
    {
        to.say(die_within(world_.shared(), stores, work));
    }

    // Does not return: the companion would leave the fabric once more.
    [[noreturn]] void live(rig &theirs, line &to, uint64_t stores, when kill)
    {
        device yours(theirs, 0);
        if (kill == when::WHILE_MAKING) {
            end(to, stores, [&] {
                endpoint other(yours);
                region some = yours.make_region(64, 7);
                other.connect_to(1, one_.qpn);
                (void)other.destroy();
            });
            leave_fabric(world_.shared(), 1, world_.now_ns);
            ::_exit(0);
        }
        if (kill == when::WHILE_LEAVING) {
            endpoint other(yours);
            end(to, stores, [&] { leave_fabric(world_.shared(), 1, world_.now_ns); });
            ::_exit(0);
        }
        endpoint other(yours);
        mr_request want{yours.pd, 7, there_.at(), bytes, there_.at()};
        uint32_t handle = 0;
        uint32_t key = 0;
        (void)theirs.command(
            [&](core &world) { return register_mr(world, yours.context, want, handle, key); });
        there_.key = key;
        other.connect_to(1, one_.qpn);
        to.say(key);
        to.say(other.qpn);
        (void)to.hear(); // the peer is connected
        for (size_t i = 0; i < 4; i++) {
            other.receive(there_, i * 512, 512);
        }
        other.send(there_, 700);
        other.write(there_, 2000, here_, 4096);
        other.send(there_, 64);
        other.read(there_, 1500, here_);
        other.fetch_add(there_, here_, 1);
        end(to, stores, [&] {
            for (int i = 0; i < passes; i++) {
                theirs.step(6000);
            }
        });
        (void)other.destroy();
        leave_fabric(world_.shared(), 1, world_.now_ns);
        ::_exit(0);
    }

    rig world_;
    device mine_;
    region here_;
    region there_;
    endpoint one_;
    uint32_t posted_ = 0;
    std::set<uint16_t> sends_;
    std::set<uint16_t> received_;
    bool twice_ = false;
};

// Kills at stores that are spread over all that the work takes.
void kill_all_over(const fabric_options &options, when kill)
{
    life whole(options);
    uint64_t all = whole.ends_at(unharmed, kill);
    REQUIRE(all > 10);
    uint64_t times = kills_of(all);
    for (uint64_t i = 0; i < times; i++) {
        uint64_t stores = 1 + all * i / times;
        life one(options);
        INFO("killed at store " << stores << " of " << all);
        CHECK(one.ends_at(stores, kill) == 0);
        CHECK(one.verdict() == "");
    }
}

} // namespace

TEST_CASE("swhca: killed at any step of a pass, a process leaves peers that complete all")
{
    kill_all_over(rig::two_devices(), when::AT_WORK);
}

TEST_CASE("swhca: killed at any step while packets are under way, a process leaves no torn list")
{
    fabric_options options = rig::two_devices();
    options.latency_ns = 5000;
    kill_all_over(options, when::AT_WORK);
}

TEST_CASE("swhca: killed at any step of making and destroying, a process leaves nothing")
{
    kill_all_over(rig::two_devices(), when::WHILE_MAKING);
    kill_all_over(rig::two_devices(), when::WHILE_LEAVING);
}

} // namespace ufx::test
