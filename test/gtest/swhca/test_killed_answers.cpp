// SPDX-License-Identifier: BSD-3-Clause
// What a responder remembers and owes, when the bystander that ran it is killed at one store after
// the other: refusals, atomics whose resource is used again, and data that comes in a CQE.
#include "bystander.h"
#include "guard_faults.h"

#include "swhca/model/events.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>

namespace ufx::test {

namespace {

using namespace swhca;

constexpr uint8_t flushed = 5, remote_invalid = 0x12, remote_access = 0x13; // syndromes
constexpr uint8_t local_length = 1;

uint64_t word_at(const region &where, size_t index)
{
    uint64_t word = 0;
    std::memcpy(&word, &where.bytes[index * sizeof(word)], sizeof(word));
    return word;
}

// The receives come when the first of them have been missed.
class not_ready : public scene {
public:
    explicit not_ready(const fabric_options &options)
        : scene(qp_settings{.timeout = no_timeout, .rnr_retry = 7}, options)
    {
    }

private:
    static constexpr size_t messages = 6, ready = 2, size = 1500, chunk = 2048;

    size_t left_count() const override { return messages; }
    size_t right_count() const override { return messages; }

    void post() override
    {
        for (size_t i = 0; i < messages; i++) {
            on_.left.send(on_.from, size);
        }
        receive(0, ready);
    }

    void go_on() override { receive(ready, messages); }

    void receive(size_t first, size_t end)
    {
        for (size_t i = first; i < end; i++) {
            on_.right.receive(on_.to, i * chunk, chunk);
        }
    }

    std::string check() override
    {
        for (size_t i = 0; i < messages; i++) {
            if (right_[i].opcode != 2 || right_[i].counter != i || right_[i].bytes != size) {
                return "receive " + std::to_string(i) + " is wrong";
            }
        }
        return all_well(left_, messages) && undisturbed() ? "" : "a request failed";
    }
};

// More atomics than the responder has resources, and reads between them.
class many_atomics : public scene {
public:
    many_atomics(uint8_t depth, uint8_t resources, const fabric_options &options,
                 const char *fault = nullptr)
        // What was never agreed may get no answer.
        : scene(qp_settings{.timeout = depth <= resources ? no_timeout : some_timeout,
                            .retry_count = 3,
                            .max_rd_atomic = depth,
                            .max_dest_rd_atomic = resources},
                options),
          agreed_(depth <= resources)
    {
        if (fault != nullptr) {
            on_.fabric.fault(fault);
        }
        std::memcpy(word_.bytes.data(), &before, sizeof(before));
    }

private:
    static constexpr size_t atomics = 10, read_after = 3;
    static constexpr uint64_t before = 1000, added = 7;

    size_t left_count() const override { return atomics + reads; }
    size_t right_count() const override { return 0; }

    void post() override
    {
        for (size_t i = 0; i < atomics; i++) {
            old_[i] = on_.a.make_region(sizeof(uint64_t), all_access);
            on_.left.fetch_add(old_[i], word_, added);
            if (i % read_after == read_after - 1) {
                on_.left.read(copy_, 2500, on_.to);
            }
        }
    }

    std::string check() override
    {
        size_t done = 0;
        size_t index = 0;
        for (const cqe &each : left_) {
            bool read = index % (read_after + 1) == read_after;
            if (!read && each.opcode == 0 && word_at(old_[done], 0) != before + done * added) {
                return "atomic " + std::to_string(done) + " found " +
                       std::to_string(word_at(old_[done], 0));
            }
            done += !read && each.opcode == 0 ? 1 : 0;
            index++;
        }
        uint64_t sum = word_at(word_, 0);
        // What failed may have been executed, but not twice.
        bool counted = (sum - before) % added == 0 && sum >= before + done * added &&
                       sum <= before + atomics * added;
        if (!counted || (agreed_ && sum != before + atomics * added)) {
            return "the atomics left " + std::to_string(sum) + " of which " + std::to_string(done) +
                   " completed";
        }
        return !agreed_ || (all_well(left_, left_count()) && undisturbed()) ? ""
                                                                            : "a request failed";
    }

    static constexpr size_t reads = atomics / read_after;
    bool agreed_;
    region word_ = on_.b.make_region(sizeof(uint64_t), all_access);
    region old_[atomics];
    region copy_ = on_.a.make_region(4096, all_access);
};

enum class because : uint8_t { OF_ITS_KEY, OF_ITS_LENGTH, OF_MEMORY };

// A request that fails between two others.
class refused : public scene {
public:
    refused(because why, const fabric_options &options)
        : scene(qp_settings{.timeout = no_timeout}, options), why_(why)
    {
        auto at = reinterpret_cast<uintptr_t>(on_.to.bytes.data() + closed_from);
        closed_ = reinterpret_cast<void *>((at + page - 1) / page * page);
        if (why_ == because::OF_MEMORY) {
            REQUIRE(::mprotect(closed_, page, PROT_NONE) == 0);
        }
    }

    ~refused() override { (void)::mprotect(closed_, page, PROT_READ | PROT_WRITE); }

private:
    static constexpr size_t receives = 4, chunk = 2048, page = 4096, closed_from = 8192;

    size_t left_count() const override { return 3; }
    size_t right_count() const override { return receives; }

    void post() override
    {
        on_.right.receive(on_.to, 0, chunk);
        on_.right.receive(on_.to, chunk, 100);
        on_.right.receive(on_.to, 2 * chunk, chunk);
        on_.right.receive(on_.to, 3 * chunk, chunk);
        on_.left.send(on_.from, 1500);
        if (why_ == because::OF_ITS_KEY) {
            region wrong = on_.to;
            wrong.start = on_.to.at();
            wrong.key += 1;
            on_.left.write(on_.from, 3000, wrong);
        } else if (why_ == because::OF_ITS_LENGTH) {
            on_.left.send(on_.from, 1500);
        } else {
            region into = on_.from;
            into.start = on_.from.at();
            on_.left.read(into, closed_from + 3 * page, on_.to);
        }
        on_.left.send(on_.from, 64);
    }

    std::string check() override
    {
        uint8_t wanted = why_ == because::OF_ITS_LENGTH ? remote_invalid : remote_access;
        if (left_[0].syndrome != 0 || left_[1].syndrome != wanted || left_[2].syndrome != flushed) {
            return "the requests ended by " + std::to_string(left_[0].syndrome) + ", " +
                   std::to_string(left_[1].syndrome) + " and " + std::to_string(left_[2].syndrome);
        }
        uint8_t second = why_ == because::OF_ITS_LENGTH ? local_length : flushed;
        // What follows a read may be there before its data is found missing.
        bool ahead = why_ == because::OF_MEMORY && right_[1].syndrome == 0 && right_[1].bytes == 64;
        if (right_[0].syndrome != 0 || right_[0].bytes != 1500 ||
            (right_[1].syndrome != second && !ahead) || right_[2].syndrome != flushed ||
            right_[3].syndrome != flushed) {
            return "the receives ended by " + std::to_string(right_[0].syndrome) + ", " +
                   std::to_string(right_[1].syndrome);
        }
        constexpr uint32_t access_error = 3; // IBV_EVENT_QP_ACCESS_ERR
        auto told = on_.b.next_event();
        bool right = why_ == because::OF_ITS_LENGTH ? !told : told && told->type == access_error;
        return right ? "" : "the event is wrong";
    }

    guard_faults guard_;
    because why_;
    void *closed_ = nullptr;
};

// Answers that come in the CQE.
class small_answers : public scene {
public:
    explicit small_answers(const fabric_options &options)
        : scene(qp_settings{.timeout = no_timeout}, options)
    {
        on_.left.inside().inline_requests = 32;
        on_.right.inside().inline_receives = 32;
        for (size_t i = 0; i < on_.to.bytes.size(); i++) {
            on_.to.bytes[i] = static_cast<uint8_t>(3 + i % 249);
        }
        std::memcpy(word_.bytes.data(), &before, sizeof(before));
    }

private:
    static constexpr uint64_t before = 50, added = 5;
    static constexpr uint32_t small = 24, large = 1500;

    size_t left_count() const override { return 5; }
    size_t right_count() const override { return 1; }

    void post() override
    {
        on_.right.receive(spare_, 0, 64);
        on_.left.read(copy_, small, on_.to);
        on_.left.fetch_add(copy_, word_, added);
        on_.left.read(copy_, large, on_.to);
        on_.left.fetch_add(copy_, word_, added);
        on_.left.send(on_.from, small);
    }

    static bool holds(const cqe &one, const void *data, size_t size)
    {
        return one.inlined.size() == size && std::memcmp(one.inlined.data(), data, size) == 0;
    }

    std::string check() override
    {
        uint64_t second = before + added;
        bool well = holds(left_[0], on_.to.bytes.data(), small) &&
                    holds(left_[1], &before, sizeof(before)) && left_[2].inlined.empty() &&
                    holds(left_[3], &second, sizeof(second)) && left_[4].inlined.empty() &&
                    holds(right_[0], on_.from.bytes.data(), small);
        if (!well || !all_well(left_, 5) || !undisturbed()) {
            return "a completion has wrong data";
        }
        return std::equal(copy_.bytes.begin(), copy_.bytes.begin() + large, on_.to.bytes.begin())
                   ? ""
                   : "the long read has wrong data";
    }

    region word_ = on_.b.make_region(sizeof(uint64_t), all_access);
    region copy_ = on_.a.make_region(2048, all_access);
    region spare_ = on_.b.make_region(64, all_access);
};

// Receives of a shared queue, which has a limit.
class from_shared_queue : public scene {
public:
    explicit from_shared_queue(const fabric_options &options) : scene({}, options)
    {
        qp_settings with{.timeout = no_timeout, .rnr_retry = 7};
        sender_.connect(receiver_, 100, with);
        receiver_.connect(sender_, 100, with);
    }

private:
    static constexpr size_t messages = 6, chunk = 2048, size = 1500;
    static constexpr uint32_t limit = 4;

    size_t left_count() const override { return messages; }
    size_t right_count() const override { return messages; }

    void post() override
    {
        for (size_t i = 0; i < messages; i++) {
            queue_.post(on_.to, i * chunk, chunk);
            sender_.send(on_.from, size);
        }
    }

    std::string check() override
    {
        for (size_t i = 0; i < messages; i++) {
            if (right_[i].opcode != 2 || right_[i].counter != i || right_[i].bytes != size) {
                return "receive " + std::to_string(i) + " is wrong";
            }
        }
        constexpr uint32_t limit_reached = 15; // IBV_EVENT_SRQ_LIMIT_REACHED
        auto told = on_.b.next_event();
        if (!told || told->type != limit_reached) {
            return "nobody told that the limit was reached";
        }
        return all_well(left_, messages) && sender_.state() == rts && receiver_.state() == rts
                   ? ""
                   : "a request failed";
    }

    shared_queue queue_{on_.b, 16, limit};
    endpoint sender_{on_.a};
    endpoint receiver_{on_.b, 2, &queue_};
};

// Two QPs of one CQ, of which the first refuses a request of the second. When its engine is dead,
// the program takes what is there, and posts one receive more.
class of_one_queue : public scene {
public:
    explicit of_one_queue(const fabric_options &options) : scene({}, options)
    {
        responder_.connect(requester_, 100, {.timeout = no_timeout});
        requester_.connect(responder_, 100, {.timeout = no_timeout});
    }

private:
    size_t left_count() const override { return 5; }
    size_t right_count() const override { return 0; }

    void post() override
    {
        region wrong = on_.from;
        wrong.start = on_.from.at();
        wrong.key += 1;
        responder_.receive(on_.from, 0, 64);
        requester_.write(on_.from, 64, wrong);
        requester_.write(on_.from, 64, wrong);
        requester_.write(on_.from, 64, wrong);
    }

    void at_death() override
    {
        (void)collect();
        responder_.receive(on_.from, 0, 64);
    }

    std::string check() override
    {
        std::vector<cqe> sent = of_kind(left_, true);
        std::vector<cqe> received = of_kind(left_, false);
        bool well = sent.size() == 3 && received.size() == 2 && sent[0].syndrome == remote_access &&
                    sent[1].syndrome == flushed && sent[2].syndrome == flushed &&
                    received[0].syndrome == flushed && received[1].syndrome == flushed &&
                    received[1].counter == 1;
        for (size_t i = 0; well && i < sent.size(); i++) {
            well = sent[i].counter == i;
        }
        return well ? "" : "a completion is wrong";
    }

    endpoint responder_{on_.a};
    endpoint requester_{on_.a};
};

// Completions of which the program is told.
class told : public scene {
public:
    explicit told(const fabric_options &options)
        : scene(qp_settings{.timeout = no_timeout}, options)
    {
    }

private:
    size_t left_count() const override { return 2; }
    size_t right_count() const override { return 0; }

    void post() override
    {
        on_.a.arm();
        on_.left.write(on_.from, 64, on_.to);
        on_.left.write(on_.from, 64, on_.to);
    }

    std::string check() override
    {
        uint32_t came = 0;
        while (on_.a.next_completion_event()) {
            came++;
        }
        const event_count &counted = on_.fabric.shared().cqs[on_.a.cq].events;
        bool right = came > 0 && events_reported(counted, 0, came) == came &&
                     events_reported(counted, came, 0) == 0;
        return right ? ""
                     : std::to_string(counted.written) + " events are counted, but " +
                           std::to_string(came) + " came";
    }
};

// One scene with packets that arrive at once, and with packets that are under way.
template <class Scene, class... With>
void kill_both_ways(With... with)
{
    kill_bystanders([=] { return std::make_unique<Scene>(with..., rig::two_devices()); });
    kill_bystanders([=] { return std::make_unique<Scene>(with..., with_latency()); });
}

} // namespace

TEST_CASE("swhca: killed at any step, a bystander is not missed by a QP that waits for a receive")
{
    kill_both_ways<not_ready>();
}

TEST_CASE("swhca: killed at any step, no atomic is done twice though its resource is used again")
{
    kill_both_ways<many_atomics>(uint8_t{2}, uint8_t{2});
    kill_bystanders(
        [] { return std::make_unique<many_atomics>(4, 4, with_latency(), "duplicate"); });
    kill_bystanders([] {
        return std::make_unique<many_atomics>(4, 4, with_latency(),
                                              "drop responses skip 3 count 1");
    });
}

TEST_CASE("swhca: killed at any step, atomics beyond what was agreed are done once or refused")
{
    kill_both_ways<many_atomics>(uint8_t{4}, uint8_t{1});
}

TEST_CASE(
    "swhca: killed at any step, a bystander leaves no request that was refused without its end")
{
    kill_both_ways<refused>(because::OF_ITS_KEY);
    kill_both_ways<refused>(because::OF_ITS_LENGTH);
    kill_both_ways<refused>(because::OF_MEMORY);
}

TEST_CASE("swhca: killed at any step, a bystander loses no data that comes in a completion")
{
    kill_both_ways<small_answers>();
}

TEST_CASE("swhca: killed at any step, a bystander is not missed by two QPs of one CQ")
{
    kill_both_ways<of_one_queue>();
}

TEST_CASE("swhca: killed at any step, a bystander leaves no event of which the count is wrong")
{
    kill_both_ways<told>();
}

TEST_CASE("swhca: killed at any step, a bystander is not missed by a shared receive queue")
{
    kill_both_ways<from_shared_queue>();
}

} // namespace ufx::test
