// SPDX-License-Identifier: BSD-3-Clause
// The parts of the InfiniBand transports that need no device.
#include "uct/ib/common/address.h"
#include "uct/ib/common/am_header.h"
#include "uct/ib/common/config.h"
#include "uct/ib/common/device.h"
#include "uct/ib/common/gid.h"
#include "uct/ib/common/psn.h"
#include "uct/ib/common/send_credits.h"
#include "uct/ib/common/send_request.h"

#include "ucs/log_capture.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <type_traits>

using namespace ufx::uct::ib;
using ufx::uct::extent;

namespace {

std::array<std::byte, 16> ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    std::array<std::byte, 16> gid{};
    gid[10] = gid[11] = std::byte{0xff};
    gid[12] = std::byte{a};
    gid[13] = std::byte{b};
    gid[14] = std::byte{c};
    gid[15] = std::byte{d};
    return gid;
}

std::array<std::byte, 16> ipv6(uint8_t first, uint8_t second, uint8_t last)
{
    std::array<std::byte, 16> gid{};
    gid[0] = std::byte{first};
    gid[1] = std::byte{second};
    gid[15] = std::byte{last};
    return gid;
}

// Sets variables for one read of the settings.
class environment {
public:
    environment(std::initializer_list<std::pair<const char *, const char *>> set) : set_(set)
    {
        for (const auto &[name, value] : set_) {
            ::setenv(name, value, 1);
        }
    }

    ~environment()
    {
        for (const auto &[name, value] : set_) {
            ::unsetenv(name);
        }
    }

    environment(const environment &) = delete;
    environment &operator=(const environment &) = delete;

private:
    std::vector<std::pair<const char *, const char *>> set_;
};

retry_budget budget(rc_kind kind = rc_kind::mlx5)
{
    const auto config = read_config(kind, {});
    REQUIRE(config);
    return config->budget;
}

} // namespace

TEST_CASE("ib: packets are counted by MTU, an empty message is one", "[ib]")
{
    // As a kernel's soft-RoCE counts at MTU 1024: four writes of 4 KB, a read of 8 KB, an atomic, a
    // write of nothing.
    CHECK(4 * packets_of(4096, 10) == 16);
    CHECK(packets_of(8192, 10) == 8);
    CHECK(packets_of(8, 10) == 1);
    CHECK(packets_of(0, 10) == 1);
    CHECK(packets_of(1025, 10) == 2);
}

TEST_CASE("ib: sequence numbers wrap at 24 bits", "[ib]")
{
    CHECK(psn_after(0xffffff, 1) == 0);
    CHECK(psn_distance(0xfffffe, 3) == 5);
    CHECK(psn_distance(3, 0xfffffe) == -5);
    size_t partial = 0;
    const uint32_t first = 0xfffff0; // 32 packets of 1024 bytes, half of them behind the wrap
    CHECK(extent_of(first, 32, first, 10, partial) == extent::none);
    CHECK(extent_of(first, 32, 0xfffff1, 10, partial) == extent::partial);
    CHECK(partial == 1024);
    CHECK(extent_of(first, 32, 15, 10, partial) == extent::partial);
    CHECK(partial == 31 * 1024);
    CHECK(extent_of(first, 32, 16, 10, partial) == extent::whole);
    CHECK(extent_of(first, 32, 0xffff00, 10, partial) == extent::none);
}

TEST_CASE("ib: GIDs are ranked: netdev and routable first, overlays and private ones last",
          "[ib][G05][G06][G07]")
{
    const std::vector<gid_entry> table = {
        {0, gid_type::roce_v2, ipv6(0xfe, 0x80, 1), ""},          // degraded
        {1, gid_type::roce_v1, ipv4(8, 8, 8, 8), "eth0"},         // last resort: left out
        {2, gid_type::roce_v2, ipv4(192, 168, 1, 1), ""},         // private
        {3, gid_type::roce_v2, ipv6(0xfe, 0x80, 2), "eth0"},      // netdev, degraded
        {4, gid_type::roce_v2, ipv4(9, 9, 9, 9), "vxlan.calico"}, // overlay: netdev, degraded
        {5, gid_type::roce_v2, ipv4(100, 64, 0, 1), "eth0"},      // netdev, private
        {6, gid_type::roce_v2, ipv4(8, 8, 8, 8), ""},             // routable
        {7, gid_type::roce_v2, ipv6(0x20, 0x01, 7), "eth0"},      // netdev, routable
        {8, gid_type::roce_v2, ipv4(172, 31, 0, 1), "eth1"},      // netdev, private: a tie
        {9, gid_type::roce_v2, {}, "eth0"},                       // null: never
        {10, gid_type::roce_v2, ipv4(172, 32, 0, 1), "eth1"},     // not private any more: a tie
    };
    CHECK(rank_gids(table) == std::vector<unsigned>{7, 10, 6, 5, 8, 3, 4, 2, 0});
    const std::vector<gid_entry> old = {{1, gid_type::roce_v1, ipv4(8, 8, 8, 8), "eth0"}};
    CHECK(rank_gids(old) == std::vector<unsigned>{1});
    const std::vector<gid_entry> null = {{0, gid_type::roce_v2, {}, "eth0"}};
    CHECK(rank_gids(null).empty());
    CHECK(std::string(gid_text(ipv4(10, 1, 2, 3)).data()) == "10.1.2.3");
    CHECK(std::string(gid_text(ipv6(0x20, 0x01, 7)).data()) == "2001::7");
}

TEST_CASE("ib: retry settings have ranges; what is wrong is warned about once, the default stays",
          "[ib][M17]")
{
    CHECK(budget().timeout == 14);
    CHECK(budget().retry_count == 7);
    CHECK(budget().rnr_retry == 7);
    CHECK(budget().min_rnr_timer == 12);
    for (const char *wrong : {"32", "-1", "x", ""}) {
        const environment set{{"UFX_IB_TIMEOUT", wrong}};
        CHECK(budget().timeout == 14);
    }
    const environment set{{"UFX_IB_TIMEOUT", "31"},
                          {"UFX_IB_RETRY_COUNT", "8"},
                          {"UFX_IB_RNR_RETRY_COUNT", "0"},
                          {"UFX_IB_MIN_RNR_TIMER", "32"}};
    CHECK(budget().timeout == 31);
    CHECK(budget().retry_count == 7);
    CHECK(budget().rnr_retry == 0);
    CHECK(budget().min_rnr_timer == 12);
}

TEST_CASE("ib: an ACK timeout of 0 is warned about", "[ib][M18]")
{
    const environment set{{"UFX_IB_TIMEOUT", "0"}};
    ufx::ucs::log_capture log;
    const retry_budget off = budget();
    CHECK(off.timeout == 0);
    CHECK(off.nominal_ns() == 0);
    CHECK(log.count("stalls") == 1);
}

TEST_CASE("ib: the setting of a transport wins over the one for all; a wrong one does not",
          "[ib][M19]")
{
    struct {
        const char *shared;
        const char *own;
        unsigned expected;
    } const cases[] = {
        {nullptr, nullptr, 14}, {nullptr, "10", 10}, {nullptr, "99", 14},
        {"12", nullptr, 12},    {"12", "10", 10},    {"12", "99", 12},
        {"99", nullptr, 14},    {"99", "10", 10},    {"99", "99", 14},
    };
    for (const auto &one : cases) {
        std::vector<std::pair<const char *, const char *>> set;
        INFO("for all " << (one.shared ? one.shared : "-") << ", own "
                        << (one.own ? one.own : "-"));
        if (one.shared != nullptr) {
            ::setenv("UFX_IB_TIMEOUT", one.shared, 1);
        }
        if (one.own != nullptr) {
            ::setenv("UFX_RC_MLX5_TIMEOUT", one.own, 1);
        }
        CHECK(budget(rc_kind::mlx5).timeout == one.expected);
        const auto verbs = budget(rc_kind::verbs).timeout;
        CHECK(verbs == (one.shared != nullptr && std::string(one.shared) == "12" ? 12 : 14));
        ::unsetenv("UFX_IB_TIMEOUT");
        ::unsetenv("UFX_RC_MLX5_TIMEOUT");
    }
}

TEST_CASE("ib: the retry budget in milliseconds, and that it is nominal", "[ib][M22]")
{
    CHECK(budget().nominal_ns() / 1000000 == 536); // 4.096 us x 2^14 x 8
    const std::string text = describe(budget()).data();
    CHECK(text.find("536.9 ms") != std::string::npos);
    CHECK(text.find("nominal") != std::string::npos);
}

TEST_CASE("ib: addresses come back as they were packed, and hostile ones are refused", "[ib]")
{
    const port_address port{
        .ethernet = true, .mtu_shift = 12, .lid = 0x1234, .gid = ipv4(10, 0, 0, 1)};
    std::array<std::byte, port_address::packed_size> bytes{};
    pack(port, bytes.data());
    const auto port_again = unpack_port(bytes.data());
    REQUIRE(port_again);
    CHECK(port_again->ethernet);
    CHECK(port_again->mtu_shift == 12);
    CHECK(port_again->lid == 0x1234);
    CHECK(port_again->gid == port.gid);
    for (const auto &[at, value] : {std::pair{0, 0x82}, {1, 7}, {1, 13}}) {
        auto wrong = bytes;
        wrong[static_cast<size_t>(at)] = static_cast<std::byte>(value);
        CHECK_FALSE(unpack_port(wrong.data()));
    }

    const qp_address qp{.tag = 0x0102030405060708,
                        .qpn = 0xabcdef,
                        .psn = 0xffffff,
                        .flush_addr = 0x7fff12345678,
                        .flush_rkey = 0x99,
                        .max_reads = 16,
                        .seg_size = 8192};
    std::array<std::byte, qp_address::packed_size> qp_bytes{};
    pack(qp, qp_bytes.data());
    const auto qp_again = unpack_qp(qp_bytes.data());
    REQUIRE(qp_again);
    CHECK(qp_again->tag == qp.tag);
    CHECK(qp_again->qpn == qp.qpn);
    CHECK(qp_again->psn == qp.psn);
    CHECK(qp_again->flush_addr == qp.flush_addr);
    CHECK(qp_again->flush_rkey == qp.flush_rkey);
    CHECK(qp_again->max_reads == qp.max_reads);
    CHECK(qp_again->seg_size == qp.seg_size);
    for (const size_t at :
         {size_t{3}, size_t{7}, size_t{21}}) { // QPN, PSN, reads beyond their range
        auto wrong = qp_bytes;
        wrong[at] = std::byte{1};
        CHECK_FALSE(unpack_qp(wrong.data()));
    }
    auto none = qp_bytes;
    none[20] = std::byte{0};
    CHECK_FALSE(unpack_qp(none.data()));
}

TEST_CASE("ib: a sender asks for credit half-way and never has more than the window out", "[ib]")
{
    for (const bool late : {false, true}) {
        flow_control sender(8);
        unsigned out = 0; // not handled by the receiver
        unsigned asked = 0;
        for (int step = 0; step < 1000; ++step) {
            if (sender.may_send()) {
                asked += sender.send() ? 1 : 0;
                ++out;
                REQUIRE(out <= 8);
            }
            // A late receiver answers only when the window is used up.
            if (late ? !sender.may_send() : asked != 0) {
                REQUIRE(asked == 1); // never stuck without having asked
                REQUIRE(sender.grant());
                asked = 0;
                out -= 4;
            }
        }
    }
    flow_control idle(8);
    CHECK_FALSE(idle.grant()); // not asked for
}

TEST_CASE("ib: a release gives back exactly what lay before the position", "[ib][U08]")
{
    send_credits queue(16, 5);
    for (const uint32_t blocks : {3u, 1u, 5u}) {
        REQUIRE(queue.has_room());
        queue.advance(blocks);
    }
    CHECK(queue.under_way() == 9);
    CHECK_FALSE(queue.has_room()); // four are kept for the transport itself
    CHECK(queue.has_room_for_own());
    CHECK(queue.release(3) == 3);
    CHECK(queue.under_way() == 6);
    CHECK(queue.release(3) == 0); // told twice
    CHECK(queue.release(4) == 1);
    CHECK(queue.release(queue.posted()) == 5);
    CHECK(queue.under_way() == 0);
    CHECK(queue.has_room());
    queue.advance(7);
    CHECK(queue.has_room());
    queue.advance(1);
    CHECK_FALSE(queue.has_room());
}

// An errno is no status of a completion: 12 is ENOMEM here and RETRY_EXC there.
static_assert(!std::is_invocable_v<decltype(failure_of), int>);
static_assert(!std::is_convertible_v<int, decltype(send_error::status)>);

TEST_CASE("ib: what an error completion means to the layer above", "[ib][L02]")
{
    CHECK(failure_of(IBV_WC_RETRY_EXC_ERR).cause == UFX_UCT_CAUSE_RETRY_EXCEEDED);
    CHECK(failure_of(IBV_WC_RNR_RETRY_EXC_ERR).cause == UFX_UCT_CAUSE_RNR_EXCEEDED);
    CHECK(failure_of(IBV_WC_REM_ACCESS_ERR).status == UFX_ERR_REMOTE_ACCESS);
    CHECK(failure_of(IBV_WC_LOC_PROT_ERR).status == UFX_ERR_LOCAL_PROT);
    CHECK(failure_of(IBV_WC_WR_FLUSH_ERR).cause == UFX_UCT_CAUSE_OWN_QP);
    CHECK(failure_of(IBV_WC_FATAL_ERR).cause == UFX_UCT_CAUSE_DEVICE_FATAL);
}

TEST_CASE("ib: a device name has a port", "[ib]")
{
    CHECK(parse_port_name("mlx5_0:1").device == "mlx5_0");
    CHECK(parse_port_name("mlx5_0:1").port == 1);
    for (const char *wrong : {"mlx5_0", "mlx5_0:", "mlx5_0:x", "mlx5_0:1x", "mlx5_0:256", ""}) {
        CHECK(parse_port_name(wrong).port == 0);
    }
}
