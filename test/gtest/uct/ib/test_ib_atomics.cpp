// SPDX-License-Identifier: BSD-3-Clause
// Atomics of the RDMA transports: what they are made of, who has them, and that none is executed
// twice.
#include "rc_rig.h"
#include "verbs_calls.h"

#include "uct/ib/common/atomic_request.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

using namespace ufx::test;
using namespace ufx::uct;

namespace {

constexpr ufx_uct_atomic_op_t all_ops[] = {UFX_UCT_ATOMIC_ADD,  UFX_UCT_ATOMIC_AND,
                                           UFX_UCT_ATOMIC_OR,   UFX_UCT_ATOMIC_XOR,
                                           UFX_UCT_ATOMIC_SWAP, UFX_UCT_ATOMIC_CSWAP};

// What a device makes of a word. Fields end at the bits of the mask, and the carry out of each is
// lost.
uint64_t executed(const ib::atomic_request &request, uint64_t word)
{
    const ib::atomic_operands &with = request.operands;
    switch (request.op) {
    case ib::send_op::fetch_add:
        return word + with.operand;
    case ib::send_op::compare_swap:
        return word == with.compare ? with.operand : word;
    case ib::send_op::masked_swap:
        return ((word ^ with.compare) & with.compare_mask) != 0
                   ? word
                   : (word & ~with.operand_mask) | (with.operand & with.operand_mask);
    case ib::send_op::masked_add:
        break;
    default:
        FAIL("no atomic");
    }
    uint64_t sum = 0;
    uint64_t carry = 0;
    for (unsigned bit = 0; bit < with.bytes * 8u; bit++) {
        const uint64_t digits = (word >> bit & 1) + (with.operand >> bit & 1) + carry;
        sum |= (digits & 1) << bit;
        carry = (with.operand_mask >> bit & 1) != 0 ? 0 : digits >> 1;
    }
    return sum;
}

constexpr uint64_t atomic_caps =
    UFX_UCT_CAP_ATOMIC32_POST | UFX_UCT_CAP_ATOMIC32_FETCH | UFX_UCT_CAP_ATOMIC32_CSWAP;

} // namespace

TEST_CASE("ib: each atomic is made of adding and swapping with masks")
{
    const auto words = {0x0123456789abcdefull, 0xffffffffffffffffull, 0xf0f0f0f080000001ull, 0ull};
    for (const unsigned size : {4u, 8u}) {
        const uint64_t mask = size == 4 ? UINT32_MAX : UINT64_MAX;
        for (const ufx_uct_atomic_op_t op : all_ops) {
            for (const uint64_t word : words) {
                for (const uint64_t operand : words) {
                    for (const uint64_t compare : words) {
                        INFO("size " << size << " op " << op);
                        uint64_t expected = word & mask;
                        apply_atomic(op, size, &expected, operand & mask, compare & mask);
                        const auto request =
                            ib::atomic_request_of(op, size, operand & mask, compare & mask);
                        CHECK(executed(request, word & mask) == expected);
                        CHECK((request.operands.bytes == 8 ||
                               request.op > ib::send_op::compare_swap));
                    }
                }
            }
        }
    }
}

TEST_CASE("ib: a device without extended atomics adds and compares on 8 bytes only")
{
    using ib::atomic_level;
    const uint64_t two = 1u << UFX_UCT_ATOMIC_ADD | 1u << UFX_UCT_ATOMIC_CSWAP;
    CHECK(ib::atomic_ops(atomic_level::standard, 8) == two);
    CHECK(ib::atomic_ops(atomic_level::standard, 4) == 0);
    CHECK(ib::atomic_ops(atomic_level::none, 8) == 0);
    CHECK(ib::atomic_ops(atomic_level::extended, 4) == ib::atomic_ops(atomic_level::extended, 8));
    for (const ufx_uct_atomic_op_t op : all_ops) {
        CHECK(in_mask(ib::atomic_ops(atomic_level::extended, 4), op));
    }
}

TEST_CASE("rc: extended atomics are there if the device says so by DEVX, or the setting does",
          "[.][hca]")
{
    struct told {
        int error;
        uint16_t operations;
        uint16_t sizes;
    };
    for_each_rc([](const uct_resource &resource) {
        const bool can = resource.tl == "rc_mlx5";
        const auto caps = [&] { return uct_side(resource, nullptr).attr.caps & atomic_caps; };
        const auto says = [](told what) {
            return devx_answer([what](const uint8_t *command, uint8_t *answer, size_t length) {
                const uint8_t wanted[] = {1, 0, 0, 0, 0, 0, 0, 7};
                if (std::memcmp(command, wanted, sizeof(wanted)) != 0 || length < 40) {
                    return ENOTSUP; // libmlx5 asks for more
                }
                answer[16 + 18] = static_cast<uint8_t>(what.operations >> 8);
                answer[16 + 19] = static_cast<uint8_t>(what.operations);
                answer[16 + 22] = static_cast<uint8_t>(what.sizes >> 8);
                answer[16 + 23] = static_cast<uint8_t>(what.sizes);
                return what.error;
            });
        };
        CHECK(caps() == 0); // no DEVX there
        {
            const auto answer = says({0, 0xf, 0x1fc});
            CHECK(caps() == (can ? atomic_caps : 0));
            const rc_setting off(resource, "EXTENDED_ATOMICS", "n");
            CHECK(caps() == 0);
        }
        for (const told &lacks :
             {told{EPERM, 0xf, 0x1fc}, told{0, 0x7, 0x1fc}, told{0, 0xb, 0x1fc}, told{0, 0xf, 8}}) {
            const auto answer = says(lacks);
            CHECK(caps() == 0);
        }
        const rc_setting on(resource, "EXTENDED_ATOMICS", "y");
        CHECK(caps() == (can ? atomic_caps : 0));
    });
}

TEST_CASE("rc: atomics that a device lacks are refused, and change nothing", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource);
        const uint64_t before = 5;
        std::memcpy(pair.target.bytes, &before, sizeof(before));
        uint32_t narrow = 0;
        uint64_t wide = 0;
        counted done;
        const auto fetch32 = [&] {
            return ufx_uct_ep_atomic32_fetch(pair.ep, UFX_UCT_ATOMIC_ADD, 1, &narrow,
                                             pair.target.addr(), pair.target.rkey, &done);
        };
        CHECK(fetch32() == UFX_ERR_UNSUPPORTED);
        CHECK(ufx_uct_ep_atomic64_post(pair.ep, UFX_UCT_ATOMIC_AND, 1, pair.target.addr(),
                                       pair.target.rkey) == UFX_ERR_INVALID_PARAM);
        CHECK(ufx_uct_ep_atomic64_fetch(pair.ep, UFX_UCT_ATOMIC_SWAP, 1, &wide, pair.target.addr(),
                                        pair.target.rkey, &done) == UFX_ERR_INVALID_PARAM);
        CHECK(pair.a().stats().outstanding_ops == 0);
        const changed_device none([](ibv_device_attr &attr) { attr.atomic_cap = IBV_ATOMIC_NONE; });
        const rc_setting on(resource, "EXTENDED_ATOMICS", "y");
        rc_pair without(resource);
        CHECK(ufx_uct_ep_atomic64_post(without.ep, UFX_UCT_ATOMIC_ADD, 1, without.target.addr(),
                                       without.target.rkey) == UFX_ERR_UNSUPPORTED);
        CHECK(ufx_uct_ep_atomic32_post(without.ep, UFX_UCT_ATOMIC_ADD, 1, without.target.addr(),
                                       without.target.rkey) == UFX_ERR_UNSUPPORTED);
        CHECK(std::memcmp(pair.target.bytes, &before, sizeof(before)) == 0);
    });
}

// Sent again seven times, executed once; the token then says which were, so that nobody does it
// again.
TEST_CASE("rc: a 4-byte atomic whose answer is lost is executed once, and its purge says so",
          "[.][hca][X06]")
{
    for_each_rc([](const uct_resource &resource) {
        const rc_setting on(resource, "EXTENDED_ATOMICS", "y");
        rc_pair pair(resource);
        if ((pair.a().attr.caps & atomic_caps) == 0) {
            return; // rc_verbs
        }
        const uint32_t before[2] = {40, 0xff};
        std::memcpy(pair.target.bytes, before, sizeof(before));
        command(rc_pair::sent_by(pair.peer) + "drop responses");
        uint32_t result = 77;
        counted done;
        REQUIRE(ufx_uct_ep_atomic32_post(pair.ep, UFX_UCT_ATOMIC_XOR, 0x0f, pair.target.addr(4),
                                         pair.target.rkey) == UFX_OK);
        REQUIRE(ufx_uct_ep_atomic32_fetch(pair.ep, UFX_UCT_ATOMIC_ADD, 2, &result,
                                          pair.target.addr(), pair.target.rkey,
                                          &done) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return pair.a().errors != 0; }));
        const auto token = pair.close_target();
        pair.close_source();
        const auto all = pair.purge(token);
        REQUIRE(all.size() == 2);
        CHECK(all[0].verdict == UFX_UCT_VERDICT_LANDED);
        CHECK(all[1].verdict == UFX_UCT_VERDICT_RESULT_LOST);
        const uint32_t after[2] = {42, 0xf0};
        CHECK(std::memcmp(pair.target.bytes, after, sizeof(after)) == 0);
        CHECK(result == 77);
        CHECK(done.calls == 0);
    });
}
