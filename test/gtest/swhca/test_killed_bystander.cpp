// SPDX-License-Identifier: BSD-3-Clause
// A process that has no part in two QPs runs them, as every engine does, and is killed at one store
// after the other: their owner lives and must not notice.
#include "companion.h"
#include "killer.h"
#include "rig.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <vector>

namespace ufx::test {

namespace {

using namespace swhca;

constexpr size_t chunk = 4096;
constexpr uint32_t sizes[] = {3000, 64, 0, 2500, 32, 1500}; // of what the right side receives
constexpr size_t messages = std::size(sizes);
constexpr size_t with_imm = 2; // of the messages, which is a write
constexpr uint64_t before = 40, added = 3;

constexpr uint8_t no_timeout = 0; // nobody may wait for a timer
// The kernel cannot copy into the image while killer.h makes it read-only: such packets are lost.
constexpr uint8_t some_timeout = 8;

std::vector<cqe> completions(device &of)
{
    std::vector<cqe> found;
    while (auto done = of.poll()) {
        found.push_back(*done);
    }
    return found;
}

class bystander {
public:
    bystander(const fabric_options &options, uint8_t timeout)
        : on_(qp_settings{.timeout = timeout, .retry_count = 7, .rnr_retry = 7}, options)
    {
        for (size_t i = 0; i < on_.from.bytes.size(); i++) {
            on_.from.bytes[i] = static_cast<uint8_t>(1 + i % 251);
        }
        std::memcpy(word_.bytes.data(), &before, sizeof(before));
    }

    // Kills the other process before its store number `stores`; how many stores there were if it
    // was unharmed, else 0.
    uint64_t killed_at(uint64_t stores)
    {
        companion other(on_.fabric, [&](rig &theirs, line &to) {
            (void)to.hear();
            to.say(die_within(theirs.shared(), stores, [&] {
                for (int i = 0; i < passes; i++) {
                    theirs.step(step_ns);
                }
            }));
        });
        post();
        other.talk().say(1);
        int status = other.wait();
        REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
        on_.fabric.now_ns += passes * step_ns;
        return other.talk().hear();
    }

    std::string verdict()
    {
        (void)on_.fabric.until(
            [&] {
                for (const cqe &each : completions(on_.a)) {
                    left_.push_back(each);
                }
                for (const cqe &each : completions(on_.b)) {
                    right_.push_back(each);
                }
                return left_.size() >= requests + 1 && right_.size() >= messages + 1;
            },
            100'000, 100'000'000);
        on_.fabric.step();
        for (auto check :
             {&bystander::wrong_requests, &bystander::wrong_receives, &bystander::wrong_data}) {
            if (std::string wrong = (this->*check)(); !wrong.empty()) {
                return wrong;
            }
        }
        bool told = on_.a.next_event() || on_.b.next_event();
        return on_.left.state() == rts && on_.right.state() == rts && !told ? "" : "a QP failed";
    }

private:
    static constexpr int passes = 5;
    static constexpr uint64_t step_ns = 6000;
    static constexpr size_t requests = messages + 5; // of the left side

    void post()
    {
        for (size_t i = 0; i < messages; i++) {
            on_.right.receive(on_.to, i * chunk, chunk);
        }
        on_.left.receive(answer_, 0, 64);
        on_.left.send(on_.from, sizes[0]);
        on_.left.write(on_.from, 5000, on_.to, messages * chunk);
        on_.left.send(on_.from, sizes[1]);
        on_.left.fetch_add(old_, word_, added);
        on_.left.write_imm(on_.from, sizes[with_imm], on_.to, 77);
        on_.left.read(copy_, 3500, on_.to);
        on_.left.send(on_.from, sizes[3]);
        on_.left.fetch_add(old_, word_, added);
        on_.left.send(on_.from, sizes[4]);
        on_.left.send(on_.from, sizes[5]);
        on_.left.fetch_add(old_, word_, added);
        on_.right.send(on_.to, 32);
        (void)engine(on_.fabric.shared(), 0).scan_doorbells(); // the work is left to the other
    }

    static std::vector<cqe> of_kind(const std::vector<cqe> &all, bool request)
    {
        std::vector<cqe> found;
        std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                     [request](const cqe &each) { return (each.opcode == 0) == request; });
        return found;
    }

    std::string wrong_requests()
    {
        if (on_.a.poll() || on_.b.poll() || left_.size() != requests + 1 ||
            right_.size() != messages + 1) {
            return std::to_string(left_.size()) + " and " + std::to_string(right_.size()) +
                   " completions";
        }
        std::vector<cqe> sent = of_kind(left_, true);
        auto wrong =
            std::adjacent_find(sent.begin(), sent.end(), [](const cqe &one, const cqe &next) {
                return one.counter >= next.counter;
            });
        return sent.size() == requests && wrong == sent.end() && of_kind(right_, true).size() == 1
                   ? ""
                   : "the requests did not all end well and in order";
    }

    std::string wrong_receives()
    {
        std::vector<cqe> received = of_kind(right_, false);
        for (size_t i = 0; i < messages; i++) {
            uint8_t opcode = i == with_imm ? 1 : 2; // MLX5_CQE_RESP_*
            const cqe &one = received[i];
            if (one.opcode != opcode || one.counter != i || one.bytes != sizes[i]) {
                return "receive " + std::to_string(i) + " has opcode " +
                       std::to_string(one.opcode) + ", " + std::to_string(one.bytes) + " bytes";
            }
        }
        return of_kind(left_, false).front().bytes == 32 ? "" : "the left side received no answer";
    }

    std::string wrong_data()
    {
        auto holds = [this](const region &where, size_t offset, size_t size) {
            return std::equal(on_.from.bytes.begin(),
                              on_.from.bytes.begin() + static_cast<ptrdiff_t>(size),
                              where.bytes.begin() + static_cast<ptrdiff_t>(offset));
        };
        for (size_t i = 0; i < messages; i++) {
            if (!holds(on_.to, i * chunk, sizes[i]) || on_.to.bytes[i * chunk + sizes[i]] != 0) {
                return "message " + std::to_string(i) + " has wrong data";
            }
        }
        uint64_t sum = 0;
        uint64_t last = 0;
        std::memcpy(&sum, word_.bytes.data(), sizeof(sum));
        std::memcpy(&last, old_.bytes.data(), sizeof(last));
        if (sum != before + 3 * added || last != before + 2 * added) {
            return "the atomics left " + std::to_string(sum) + " and answered " +
                   std::to_string(last);
        }
        return holds(on_.to, messages * chunk, 5000) && holds(copy_, 0, sizes[0])
                   ? ""
                   : "what was written or read has wrong data";
    }

    pair on_;
    region word_ = on_.b.make_region(8, all_access);
    region old_ = on_.a.make_region(8, all_access);
    region copy_ = on_.a.make_region(chunk, all_access);
    region answer_ = on_.a.make_region(64, all_access);
    std::vector<cqe> left_, right_;
};

void kill_bystanders(const fabric_options &options, uint8_t timeout)
{
    uint64_t all = bystander(options, timeout).killed_at(unharmed);
    REQUIRE(all > 10);
    uint64_t times = kills_of(all);
    for (uint64_t i = 0; i < times; i++) {
        uint64_t stores = 1 + all * i / times;
        bystander one(options, timeout);
        INFO("killed at store " << stores << " of " << all);
        CHECK(one.killed_at(stores) == 0);
        CHECK(one.verdict() == "");
    }
}

} // namespace

TEST_CASE("swhca: killed at any step, a bystander that ran the QPs of others is not missed")
{
    kill_bystanders(rig::two_devices(), no_timeout);
}

TEST_CASE("swhca: killed at any step, a bystander is not missed by packets under way")
{
    fabric_options options = rig::two_devices();
    options.latency_ns = 5000;
    kill_bystanders(options, some_timeout);
}

} // namespace ufx::test
