// SPDX-License-Identifier: BSD-3-Clause
// All kinds of requests of two QPs, run by a bystander that is killed at one store after the other.
#include "bystander.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>

namespace ufx::test {

namespace {

using namespace swhca;

constexpr size_t chunk = 4096;
constexpr uint32_t sizes[] = {3000, 64, 0, 2500, 32, 1500}; // of what the right side receives
constexpr size_t messages = std::size(sizes);
constexpr size_t with_imm = 2; // of the messages, which is a write
constexpr uint64_t before = 40, added = 3;

class all_kinds : public scene {
public:
    explicit all_kinds(const fabric_options &options, const char *fault = nullptr)
        : scene(qp_settings{.timeout = no_timeout, .retry_count = 7, .rnr_retry = 7}, options)
    {
        for (size_t i = 0; i < on_.from.bytes.size(); i++) {
            on_.from.bytes[i] = static_cast<uint8_t>(1 + i % 251);
        }
        std::memcpy(word_.bytes.data(), &before, sizeof(before));
        if (fault != nullptr) {
            on_.fabric.fault(fault);
        }
    }

private:
    static constexpr size_t requests = messages + 5; // of the left side

    size_t left_count() const override { return requests + 1; }
    size_t right_count() const override { return messages + 1; }

    std::string check() override
    {
        for (auto part :
             {&all_kinds::wrong_requests, &all_kinds::wrong_receives, &all_kinds::wrong_data}) {
            if (std::string wrong = (this->*part)(); !wrong.empty()) {
                return wrong;
            }
        }
        return undisturbed() ? "" : "a QP failed";
    }

    void post() override
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
    }

    std::string wrong_requests()
    {
        return all_well(of_kind(left_, true), requests) && all_well(of_kind(right_, true), 1)
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

    region word_ = on_.b.make_region(8, all_access);
    region old_ = on_.a.make_region(8, all_access);
    region copy_ = on_.a.make_region(chunk, all_access);
    region answer_ = on_.a.make_region(64, all_access);
};

} // namespace

TEST_CASE("swhca: killed at any step, a bystander that ran the QPs of others is not missed")
{
    kill_bystanders([] { return std::make_unique<all_kinds>(rig::two_devices()); });
}

TEST_CASE("swhca: killed at any step, a bystander is not missed by packets under way")
{
    kill_bystanders([] { return std::make_unique<all_kinds>(with_latency()); });
}

TEST_CASE(
    "swhca: killed at any step, a bystander is not missed by a QP that asks for a lost packet")
{
    kill_bystanders(
        [] { return std::make_unique<all_kinds>(with_latency(), "drop requests skip 3 count 1"); });
}

TEST_CASE("swhca: killed at any step, a bystander is not missed by packets that come twice")
{
    kill_bystanders([] { return std::make_unique<all_kinds>(with_latency(), "duplicate"); });
}

} // namespace ufx::test
