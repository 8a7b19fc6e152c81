// SPDX-License-Identifier: BSD-3-Clause
// Conformance: atomics of 4 and 8 bytes.
#include "harness.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;

namespace {

template <class T>
T model(ufx_uct_atomic_op_t op, T value, T operand)
{
    switch (op) {
    case UFX_UCT_ATOMIC_ADD:
        return static_cast<T>(value + operand);
    case UFX_UCT_ATOMIC_AND:
        return value & operand;
    case UFX_UCT_ATOMIC_OR:
        return value | operand;
    case UFX_UCT_ATOMIC_XOR:
        return value ^ operand;
    default:
        return operand;
    }
}

constexpr ufx_uct_atomic_op_t all_ops[] = {UFX_UCT_ATOMIC_ADD, UFX_UCT_ATOMIC_AND,
                                           UFX_UCT_ATOMIC_OR, UFX_UCT_ATOMIC_XOR,
                                           UFX_UCT_ATOMIC_SWAP};

// Every op of `mask`, from `start`, against the model.
template <class T, class Fetch>
void check_fetch(uct_pair &pair, T *target, uint64_t mask, Fetch fetch)
{
    for (ufx_uct_atomic_op_t op : all_ops) {
        if ((mask >> op & 1) == 0) {
            continue;
        }
        const T start = static_cast<T>(0x123456789abcdef0);
        const T operand = static_cast<T>(0x0ff00ff00ff00ff3);
        *target = start;
        T result = 0;
        counted done;
        REQUIRE(fetch(op, operand, &result, &done) == UFX_INPROGRESS);
        CHECK(done.calls == 0);
        REQUIRE(pair.wait([&] { return done.done(); }));
        CHECK(done.result == UFX_OK);
        CHECK(result == start);
        CHECK(*target == model(op, start, operand));
    }
}

template <class T, class Post>
void check_post(uct_pair &pair, T *target, uint64_t mask, Post post)
{
    for (ufx_uct_atomic_op_t op : all_ops) {
        const T start = static_cast<T>(0x123456789abcdef0);
        const T operand = static_cast<T>(0x0ff00ff00ff00ff3);
        *target = start;
        if ((mask >> op & 1) == 0) {
            CHECK(post(op, operand) == UFX_ERR_INVALID_PARAM);
            continue;
        }
        REQUIRE(post(op, operand) == UFX_OK);
        pair.flush();
        CHECK(*target == model(op, start, operand));
    }
}

template <class T, class Swap>
void check_cswap(uct_pair &pair, T *target, Swap swap)
{
    *target = 7;
    T result = 0;
    counted miss;
    REQUIRE(swap(T{8}, T{9}, &result, &miss) == UFX_INPROGRESS);
    REQUIRE(pair.wait([&] { return miss.done(); }));
    CHECK(result == 7);
    CHECK(*target == 7);
    counted hit;
    REQUIRE(swap(T{7}, T{9}, &result, &hit) == UFX_INPROGRESS);
    REQUIRE(pair.wait([&] { return hit.done(); }));
    CHECK(result == 7);
    CHECK(*target == 9);
}

} // namespace

TEST_CASE("uct: 64-bit atomics change memory once and give the value before",
          "[conformance][atomic]")
{
    for_each_transport(
        UFX_UCT_CAP_ATOMIC64_POST | UFX_UCT_CAP_ATOMIC64_FETCH | UFX_UCT_CAP_ATOMIC64_CSWAP,
        [](const uct_resource &resource) {
            uct_pair pair(resource);
            remote_memory memory(pair, 64);
            auto *target = reinterpret_cast<uint64_t *>(memory.bytes + 8);
            const uint64_t addr = memory.addr(8);
            check_post(pair, target, pair.a().attr.atomic64_post_ops, [&](auto op, uint64_t value) {
                return ufx_uct_ep_atomic64_post(pair.ep, op, value, addr, memory.rkey);
            });
            check_fetch(pair, target, pair.a().attr.atomic64_fetch_ops,
                        [&](auto op, uint64_t value, uint64_t *result, auto *comp) {
                            return ufx_uct_ep_atomic64_fetch(pair.ep, op, value, result, addr,
                                                             memory.rkey, comp);
                        });
            check_cswap(pair, target, [&](auto compare, auto value, auto *result, auto *comp) {
                return ufx_uct_ep_atomic64_cswap(pair.ep, compare, value, result, addr, memory.rkey,
                                                 comp);
            });
            counted done;
            uint64_t result = 0;
            CHECK(ufx_uct_ep_atomic64_fetch(pair.ep, UFX_UCT_ATOMIC_ADD, 1, &result, addr + 4,
                                            memory.rkey, &done) == UFX_ERR_INVALID_PARAM);
        });
}

TEST_CASE("uct: 32-bit atomics change memory once and give the value before",
          "[conformance][atomic]")
{
    for_each_transport(
        UFX_UCT_CAP_ATOMIC32_POST | UFX_UCT_CAP_ATOMIC32_FETCH | UFX_UCT_CAP_ATOMIC32_CSWAP,
        [](const uct_resource &resource) {
            uct_pair pair(resource);
            remote_memory memory(pair, 64);
            auto *target = reinterpret_cast<uint32_t *>(memory.bytes + 4);
            auto *beside = reinterpret_cast<uint32_t *>(memory.bytes + 8);
            *beside = 0xabcdef01;
            const uint64_t addr = memory.addr(4);
            check_post(pair, target, pair.a().attr.atomic32_post_ops, [&](auto op, uint32_t value) {
                return ufx_uct_ep_atomic32_post(pair.ep, op, value, addr, memory.rkey);
            });
            check_fetch(pair, target, pair.a().attr.atomic32_fetch_ops,
                        [&](auto op, uint32_t value, uint32_t *result, auto *comp) {
                            return ufx_uct_ep_atomic32_fetch(pair.ep, op, value, result, addr,
                                                             memory.rkey, comp);
                        });
            check_cswap(pair, target, [&](auto compare, auto value, auto *result, auto *comp) {
                return ufx_uct_ep_atomic32_cswap(pair.ep, compare, value, result, addr, memory.rkey,
                                                 comp);
            });
            CHECK(*beside == 0xabcdef01);
        });
}
