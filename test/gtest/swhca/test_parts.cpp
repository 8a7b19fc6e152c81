// SPDX-License-Identifier: BSD-3-Clause
// Parts alone: WQEs, CQEs, the decoder of stores, paths, and the set of small numbers.
#include "swhca/engine/address_space.h"
#include "swhca/fabric/bitmap.h"
#include "swhca/shim/paths.h"
#include "swhca/shim/store_decoder.h"
#include "swhca/wire/cqe.h"
#include "swhca/wire/packet.h"
#include "swhca/wire/wqe.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace ufx::test {

namespace {

using namespace swhca;

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values)
{
    std::vector<std::byte> out;
    for (unsigned each : values) {
        out.push_back(static_cast<std::byte>(each));
    }
    return out;
}

size_t length_of(std::vector<uint8_t> code)
{
    code.resize(15, 0x90);
    return shim::decode_store(code).length;
}

} // namespace

TEST_CASE("swhca: a WQE is taken apart by its segments")
{
    auto bytes =
        bytes_of({0, 0x12, 0x34, 0x08, 0, 0, 0x48, 3, 0, 0, 0,    0x8a, 0, 0, 0,    0,   // control
                  0, 0,    0x7f, 0,    0, 0, 0x10, 0, 0, 0, 0x11, 0,    0, 0, 0,    0,   // remote
                  0, 0,    0x10, 0,    0, 0, 0x12, 0, 0, 0, 0x7f, 0,    0, 0, 0x20, 0}); // data
    send_wqe wqe;
    REQUIRE(parse_send_wqe(bytes, false, wqe) == wqe_error::NONE);
    CHECK(wqe.opcode == 8);
    CHECK(wqe.index == 0x1234);
    CHECK(wqe.qpn == 0x48);
    CHECK(wqe.signaled);
    CHECK(wqe.solicited);
    CHECK(wqe.fence);
    CHECK(wqe.remote_va == 0x7f0000001000);
    CHECK(wqe.rkey == 0x1100);
    CHECK(wqe.sge_count == 1);
    CHECK(wqe.sges[0].va == 0x7f0000002000);
    CHECK(wqe.length == 4096);
    CHECK(parse_send_wqe(bytes, true, wqe) == wqe_error::BAD_OPCODE); // a datagram cannot write
    CHECK(parse_send_wqe(std::span(bytes).first(47), false, wqe) == wqe_error::TOO_SHORT);
    CHECK(parse_send_wqe({}, false, wqe) == wqe_error::TOO_SHORT);
    bytes[3] = std::byte{0x14}; // an extended atomic, but of no size
    CHECK(parse_send_wqe(bytes, false, wqe) == wqe_error::BAD_OPCODE);
}

TEST_CASE("swhca: inline data that leaves its WQE is refused")
{
    auto bytes = bytes_of({0,    0, 0, 0x0a, 0, 0, 0x48, 2, 0, 0, 0, 8, 0, 0,  0,  0, //
                           0x80, 0, 0, 12,   1, 2, 3,    4, 5, 6, 7, 8, 9, 10, 11, 12});
    send_wqe wqe;
    REQUIRE(parse_send_wqe(bytes, false, wqe) == wqe_error::NONE);
    CHECK(wqe.is_inline);
    CHECK(wqe.length == 12);
    CHECK(bytes[wqe.inline_offset] == std::byte{1});
    bytes[19] = std::byte{13};
    CHECK(parse_send_wqe(bytes, false, wqe) == wqe_error::BAD_INLINE);
}

TEST_CASE("swhca: a CQE has its fields where the hardware has them")
{
    completion what{};
    what.opcode = 2;
    what.qpn = 0x4a;
    what.uidx = 0x17;
    what.byte_count = 100;
    what.wqe_counter = 0x0102;
    cqe_image image = encode(what, true);
    CHECK(image[35] == std::byte{0x17});
    CHECK(image[47] == std::byte{100});
    CHECK(image[59] == std::byte{0x4a});
    CHECK(image[60] == std::byte{1});
    CHECK(image[61] == std::byte{2});
    CHECK(image[63] == std::byte{0x21});
    what.opcode = 13;
    what.syndrome = 0x15;
    what.sent_opcode = 8;
    image = encode(what, false);
    CHECK(image[55] == std::byte{0x15});
    CHECK(image[56] == std::byte{8});
    CHECK(image[63] == std::byte{0xd0});
}

TEST_CASE("swhca: the length of stores that compilers and memcpy emit")
{
    CHECK(length_of({0x48, 0x89, 0x02}) == 3);                   // mov %rax,(%rdx)
    CHECK(length_of({0x48, 0x89, 0x84, 0x24, 0, 1, 0, 0}) == 8); // mov %rax,256(%rsp)
    CHECK(length_of({0x89, 0x50, 0x20}) == 3);                   // mov %edx,32(%rax)
    CHECK(length_of({0x48, 0x89, 0x05, 1, 2, 3, 4}) == 7);       // mov %rax,rip+n
    CHECK(length_of({0x48, 0xc7, 0x00, 1, 0, 0, 0}) == 7);       // movq $1,(%rax)
    CHECK(length_of({0x0f, 0x11, 0x07}) == 3);                   // movups %xmm0,(%rdi)
    CHECK(length_of({0x66, 0x0f, 0xe7, 0x47, 0x10}) == 5);       // movntdq
    CHECK(length_of({0x48, 0x0f, 0xc3, 0x02}) == 4);             // movnti
    CHECK(length_of({0xc5, 0xfe, 0x7f, 0x47, 0x20}) == 5);       // vmovdqu %ymm0,32(%rdi)
    CHECK(length_of({0xc4, 0xc1, 0x7e, 0x7f, 0x04, 0x24}) == 6); // vmovdqu %ymm0,(%r12)
    CHECK(length_of({0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07}) == 6); // vmovdqu64 %zmm0,(%rdi)
    CHECK(length_of({0x48, 0x89, 0xc2}) == 0);                   // to a register
    CHECK(length_of({0x48, 0x8b, 0x02}) == 0);                   // a load
    CHECK(length_of({0x0f, 0x0b}) == 0);                         // ud2
    std::vector<uint8_t> code = {0xf3, 0x48, 0xa5};              // rep movsq
    code.resize(15);
    shim::store_instruction moves = shim::decode_store(code);
    CHECK(moves.length == 3);
    CHECK(moves.repeated);
    CHECK(moves.is_movs);
    CHECK(moves.string_bytes == 8);
}

TEST_CASE("swhca: paths of devices lead into the fabric's directory, and back")
{
    ::setenv("UFX_SWHCA_DIR", "/some/where", 1);
    shim::path_buffer room;
    auto led = [&](const char *path) { return std::string(shim::redirect(path, room)); };
    CHECK(led("/sys/class/infiniband/mlx5_0") == "/some/where/sys/class/infiniband/mlx5_0");
    CHECK(led("/sys/class/infiniband_verbs") == "/some/where/sys/class/infiniband_verbs");
    CHECK(led("/dev/infiniband/uverbs0") == "/some/where/dev/infiniband/uverbs0");
    CHECK(led("/sys/class/infiniband_mad") == "/some/where/sys/class/infiniband_mad");
    CHECK(led("/sys/class/infiniband_cm") == "/sys/class/infiniband_cm");
    CHECK(led("/sys/class/net") == "/sys/class/net");
    CHECK(led("class/infiniband") == "class/infiniband");
    std::string path = "/some/where/sys/devices/pci0000:3a/x";
    shim::restore(path.data());
    CHECK(std::string(path.c_str()) == "/sys/devices/pci0000:3a/x");
    path = "/some/where/else";
    shim::restore(path.data());
    CHECK(path == "/some/where/else");
    uint32_t number = 99;
    CHECK(shim::device_number("/dev/infiniband/uverbs12", number));
    CHECK(number == 12);
    CHECK_FALSE(shim::device_number("/dev/infiniband/uverbs", number));
    CHECK_FALSE(shim::device_number("/dev/infiniband/uverbs1x", number));
    CHECK_FALSE(shim::device_number(nullptr, number));
    ::unsetenv("UFX_SWHCA_DIR");
    CHECK(led("/sys/class/infiniband/mlx5_0") == "/sys/class/infiniband/mlx5_0");
}

TEST_CASE("swhca: PSNs are compared on their circle")
{
    CHECK(psn_diff(1, 0xffffff) == 2);
    CHECK(psn_diff(0xffffff, 1) == -2);
    CHECK(psn_diff(5, 5) == 0);
    CHECK(psn_diff(0x7fffff, 0) == 0x7fffff);
    CHECK(packets_of(0, 1024) == 1);
    CHECK(packets_of(1024, 1024) == 1);
    CHECK(packets_of(1025, 1024) == 2);
}

TEST_CASE("swhca: a set of small numbers finds each again")
{
    shared_bitmap<4096> set{};
    CHECK(set.empty());
    for (uint32_t each : {0u, 63u, 64u, 4095u}) {
        set.add(each);
    }
    CHECK(set.next(0) == 0);
    CHECK(set.next(1) == 63);
    CHECK(set.next(64) == 64);
    CHECK(set.next(65) == 4095);
    set.remove(4095);
    CHECK(set.next(65) == set.none);
    for (uint32_t each : {0u, 63u, 64u}) {
        set.remove(each);
    }
    CHECK(set.next(0) == set.none);
    CHECK(set.empty());
}

TEST_CASE("swhca: memory is accessible if all of its range has the rights")
{
    constexpr size_t page = 4096;
    void *pages =
        ::mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    auto *bytes = static_cast<char *>(pages);
    REQUIRE(::mprotect(bytes + page, page, PROT_READ) == 0);
    REQUIRE(::mprotect(bytes + 2 * page, page, PROT_NONE) == 0);
    REQUIRE(::munmap(bytes + 3 * page, page) == 0);
    auto start = reinterpret_cast<uintptr_t>(pages);
    CHECK(swhca::is_accessible(start + 10, page - 10, true));
    CHECK(swhca::is_accessible(start, 2 * page, false));
    CHECK_FALSE(swhca::is_accessible(start, page + 1, true));
    CHECK_FALSE(swhca::is_accessible(start + page, page + 1, false));
    CHECK_FALSE(swhca::is_accessible(start + 3 * page, 1, false));
    ::munmap(pages, 3 * page);
}

} // namespace ufx::test
