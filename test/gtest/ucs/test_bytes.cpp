// SPDX-License-Identifier: BSD-3-Clause
// Bounds-checked reading and writing of bytes; identities; random numbers; back-off.
#include "ucs/backoff.h"
#include "ucs/bytes.h"
#include "ucs/prng.h"
#include "ucs/uuid.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

using namespace ufx;

TEST_CASE("bytes: loads and stores name their endianness", "[ucs][bytes]")
{
    const unsigned char raw[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
    CHECK(ucs::load_le16(raw) == 0x0201);
    CHECK(ucs::load_le32(raw) == 0x04030201);
    CHECK(ucs::load_le64(raw) == 0x0807060504030201);
    CHECK(ucs::load_be<uint32_t>(raw) == 0x01020304);
    unsigned char out[9] = {};
    ucs::store_le32(out + 1, 0x04030201);
    CHECK(std::memcmp(out + 1, raw, 4) == 0);
    ucs::store_be<uint64_t>(out + 1, 0x0102030405060708);
    CHECK(std::memcmp(out + 1, raw, 8) == 0);
}

TEST_CASE("bytes: what is written is read back", "[ucs][bytes]")
{
    std::array<std::byte, 64> buffer{};
    ucs::byte_writer out(buffer);
    out.u8(1);
    out.le16(2);
    out.le32(3);
    out.le64(4);
    out.be16(5);
    out.be32(6);
    out.bytes("abc", 3);
    REQUIRE(out.ok());
    CHECK(out.size() == 24);
    CHECK(out.space() == 40);
    ucs::byte_reader in(out.written());
    CHECK(in.u8() == 1);
    CHECK(in.le16() == 2);
    CHECK(in.le32() == 3);
    CHECK(in.le64() == 4);
    CHECK(in.be16() == 5);
    CHECK(in.be32() == 6);
    char text[3];
    in.copy(text, 3);
    CHECK(std::memcmp(text, "abc", 3) == 0);
    CHECK(in.at_end());
}

TEST_CASE("bytes: reading beyond the end fails for good and gives zeros", "[ucs][bytes]")
{
    const unsigned char raw[] = {0xff, 0xff, 0xff};
    ucs::byte_reader in(raw, sizeof(raw));
    CHECK(in.le16() == 0xffff);
    CHECK(in.le32() == 0);
    CHECK_FALSE(in.ok());
    CHECK(in.u8() == 0); // one byte was left, but the reader has failed
    CHECK(in.bytes(1).empty());
    char text[2] = {'x', 'x'};
    in.copy(text, 2);
    CHECK((text[0] == 0 && text[1] == 0));
    CHECK_FALSE(in.at_end());
    ucs::byte_reader huge(raw, sizeof(raw));
    CHECK(huge.bytes(SIZE_MAX).empty());
    CHECK_FALSE(huge.ok());
    ucs::byte_reader refused(raw, sizeof(raw));
    refused.fail();
    CHECK(refused.remaining() == 0);
    ucs::byte_reader empty;
    CHECK(empty.at_end());
}

TEST_CASE("bytes: writing beyond the end writes nothing and fails for good", "[ucs][bytes]")
{
    std::array<std::byte, 6> buffer{};
    ucs::byte_writer out(buffer);
    std::byte *length = out.reserve(2);
    REQUIRE(length != nullptr);
    out.le64(1);
    CHECK_FALSE(out.ok());
    out.u8(9);
    CHECK(out.size() == 2);
    CHECK(out.space() == 0);
    CHECK(out.reserve(1) == nullptr);
    CHECK(buffer[2] == std::byte{0});
}

TEST_CASE("uuid: identities differ and are never zero", "[ucs][uuid]")
{
    std::set<uint64_t> seen;
    for (int i = 0; i < 100; i++) {
        uint64_t id = ucs::random_uuid();
        CHECK(id != 0);
        CHECK(seen.insert(id).second);
    }
}

TEST_CASE("prng: the same seed gives the same numbers, and below() stays below", "[ucs][prng]")
{
    ucs::prng a(5), b(5), c(6);
    CHECK(a.next() == b.next());
    CHECK(a.next() != c.next());
    bool seen[7] = {};
    for (int i = 0; i < 1000; i++) {
        uint64_t value = a.below(7);
        REQUIRE(value < 7);
        seen[value] = true;
    }
    for (bool one : seen) {
        CHECK(one);
    }
    CHECK(a.below(0) == 0);
    CHECK(a.below(1) == 0);
}

TEST_CASE("backoff: doubles within its jitter up to the limit and starts again", "[ucs][backoff]")
{
    ucs::backoff delays(1000, 60000, 1, 25);
    uint64_t expected = 1000;
    for (int i = 0; i < 10; i++) {
        uint64_t delay = delays.next();
        CHECK(delay <= expected);
        CHECK(delay >= expected - expected / 4);
        expected = std::min<uint64_t>(expected * 2, 60000);
    }
    CHECK(delays.current() == 60000);
    delays.reset();
    CHECK(delays.current() == 1000);
    ucs::backoff exact(10, 5, 1, 0);
    CHECK(exact.next() == 10);
    CHECK(exact.next() == 10);
}
