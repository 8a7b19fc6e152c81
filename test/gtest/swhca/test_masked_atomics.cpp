// SPDX-License-Identifier: BSD-3-Clause
// Extended atomics: masks, fields, and words of 4 bytes. Their layout is in no header: opcode 0x14
// has swap, compare, swap mask and compare mask, opcode 0x15 what is added and the highest bits of
// the fields, all big-endian and of the size that the opcode's modifier has.
#include "rig.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace ufx::test {

namespace {

constexpr uint8_t compare_swap = 0x14, fetch_add = 0x15;
constexpr uint64_t all = ~0ull;
constexpr uint64_t all_4 = 0xffffffff;

struct masked_pair : pair {
    masked_pair() { std::fill(to.bytes.begin(), to.bytes.end(), uint8_t{0x5a}); }

    void put(uint64_t value) { std::memcpy(to.bytes.data(), &value, 8); }

    // The word afterwards, and what came back, as numbers.
    struct outcome {
        uint64_t now;
        uint64_t before;

        bool operator==(const outcome &) const = default;
    };

    outcome run(uint8_t opcode, uint32_t size, const std::vector<uint64_t> &operands)
    {
        left.masked_atomic(opcode, size, operands, from, to);
        cqe done = wait(a);
        CHECK(done.syndrome == 0);
        CHECK(done.sent_opcode == opcode);
        CHECK(done.bytes == size);
        return look(size);
    }

    [[nodiscard]] outcome look(uint32_t size) const
    {
        outcome seen{};
        std::memcpy(&seen.now, to.bytes.data(), size);
        std::memcpy(&seen.before, from.bytes.data(), size);
        if (size == 4) { // comes back big-endian
            seen.before = __builtin_bswap32(static_cast<uint32_t>(seen.before));
        }
        return seen;
    }
};

using outcome = masked_pair::outcome;

} // namespace

TEST_CASE("swhca: a masked compare-and-swap compares some bits and swaps others")
{
    masked_pair on;
    on.put(0x1122334455667788);
    CHECK(on.run(compare_swap, 8, {0xaa00, 0x1100000000000000, 0xff00, 0xff00000000000000}) ==
          outcome{0x112233445566aa88, 0x1122334455667788});
    CHECK(on.run(compare_swap, 8, {0xbb00, 0x1200000000000000, 0xff00, 0xff00000000000000}) ==
          outcome{0x112233445566aa88, 0x112233445566aa88}); // another first byte
    CHECK(on.run(compare_swap, 8, {77, 0, all, 0}) == outcome{77, 0x112233445566aa88});
    CHECK(on.run(compare_swap, 8, {5, 77, all, all}) == outcome{5, 77});
}

TEST_CASE("swhca: a masked fetch-and-add carries within fields only")
{
    masked_pair on;
    on.put(0x00000001000000ff);
    CHECK(on.run(fetch_add, 8, {1, 0}) == outcome{0x0000000100000100, 0x00000001000000ff});
    on.put(0xffffffffffffffff);
    CHECK(on.run(fetch_add, 8, {1, 0x80000000}) == outcome{0xffffffff00000000, 0xffffffffffffffff});
    on.put(0xff);
    CHECK(on.run(fetch_add, 8, {0x0101, 0x8080808080808080}) == outcome{0x0100, 0xff});
    on.put(0xf0f0);
    CHECK(on.run(fetch_add, 8, {0xff00, all}) == outcome{0x0ff0, 0xf0f0}); // fields of a bit: xor
}

TEST_CASE("swhca: extended atomics of 4 bytes touch no other, and their answer is big-endian")
{
    masked_pair on;
    on.put(0x5a5a5a5a00000005);
    CHECK(on.run(fetch_add, 4, {0xffffffff, 0}) == outcome{4, 5});
    CHECK(on.run(fetch_add, 4, {0x8000, 0x8000}) == outcome{0x8004, 4});
    CHECK(on.run(fetch_add, 4, {0x8000, 0x8000}) == outcome{4, 0x8004}); // carried nowhere
    CHECK(on.run(compare_swap, 4, {9, 4, all_4, all_4}) == outcome{9, 4});
    CHECK(on.run(compare_swap, 4, {1, 4, all_4, all_4}) == outcome{9, 9});
    CHECK(on.run(compare_swap, 4, {0xab000000, 0, 0xff000000, 0}) == outcome{0xab000009, 9});
    CHECK(on.to.bytes[4] == 0x5a);
    on.left.masked_atomic(fetch_add, 4, {1, 0}, on.from, on.to, 4); // aligned to 4 bytes, not to 8
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.to.bytes[4] == 0x5b);
    CHECK(on.to.bytes[0] == 9);
}

TEST_CASE("swhca: a duplicate of an extended atomic is answered again and not executed")
{
    masked_pair on;
    uint32_t size = GENERATE(4u, 8u);
    on.put(40);
    on.fabric.fault(
        GENERATE(as<std::string>(), "drop responses count 2", "duplicate requests count 1"));
    CHECK(on.run(fetch_add, size, {2, 0}) == outcome{42, 40});
    on.fabric.step(1'000'000);
    CHECK(on.look(size) == outcome{42, 40});
    CHECK(on.right.inside().counters.duplicates > 0);
    on.fabric.clear_faults();
    on.fabric.fault("drop responses count 1");
    uint64_t mask = size == 4 ? all_4 : all;
    CHECK(on.run(compare_swap, size, {7, 42, mask, mask}) == outcome{7, 42});
}

TEST_CASE("swhca: extended atomics need their right, their alignment, and room for their answer")
{
    masked_pair on;
    SECTION("the right")
    {
        region deaf = on.b.make_region(64, 7); // all but atomics
        on.left.masked_atomic(fetch_add, 4, {1, 0}, on.from, deaf);
        CHECK(on.wait(on.a).syndrome == 0x13);
    }
    SECTION("the alignment")
    {
        on.left.masked_atomic(fetch_add, 8, {1, 0}, on.from, on.to, 4);
        CHECK(on.wait(on.a).syndrome == 0x12);
    }
    SECTION("the end of the region")
    {
        region small = on.b.make_region(4, all_access);
        on.left.masked_atomic(fetch_add, 4, {1, 0}, on.from, small);
        CHECK(on.wait(on.a).syndrome == 0);
        on.left.masked_atomic(fetch_add, 8, {1, 0}, on.from, small);
        CHECK(on.wait(on.a).syndrome == 0x13);
    }
}

TEST_CASE("swhca: an extended atomic around the end of the queue is two blocks all the same")
{
    masked_pair on;
    on.put(0);
    for (uint32_t i = 0; i < endpoint::blocks; i++) { // two blocks each, so twice around
        CHECK(on.run(compare_swap, 8, {i + 1, i, all, all}) == outcome{i + 1, i});
        if (i == 0) {
            on.left.write(on.from, 8, on.to, 64); // one block: what follows lies across the end
            (void)on.wait(on.a);
        }
    }
}

} // namespace ufx::test
