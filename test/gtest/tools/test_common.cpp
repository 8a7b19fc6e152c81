// SPDX-License-Identifier: BSD-3-Clause
// Units, checksums, frames and rails of a peer, files that are whole or absent.
#include <catch2/catch.hpp>

#include "tools/common/channel.h"
#include "tools/common/crc32.h"
#include "tools/common/error.h"
#include "tools/common/nearest.h"
#include "tools/common/output_file.h"
#include "tools/common/rails.h"
#include "tools/common/reception.h"
#include "tools/common/socket.h"
#include "tools/common/units.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace ufx::tools;

namespace {

struct pair {
    pair()
    {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        left = fd(ends[0]);
        right = fd(ends[1]);
    }
    void write(const std::string &bytes) const
    {
        REQUIRE(::write(left.get(), bytes.data(), bytes.size()) ==
                static_cast<ssize_t>(bytes.size()));
    }
    fd left, right;
};

std::string header(const std::string &magic, unsigned version, unsigned type, uint32_t length,
                   uint32_t zero = 0)
{
    std::string bytes = magic;
    for (const auto &[value, width] :
         {std::pair<uint32_t, int>{version, 2}, {type, 2}, {length, 4}, {zero, 4}}) {
        for (int i = 0; i < width; i++) {
            bytes.push_back(static_cast<char>(value >> (8 * i)));
        }
    }
    return bytes;
}

/** What a channel says about these bytes of a peer that then closes. */
std::string complaint(const std::string &bytes)
{
    pair ends;
    channel mine(std::move(ends.right));
    ends.write(bytes);
    ends.left.reset();
    try {
        mine.expect(frame_type::HELLO, 1000);
    } catch (const tool_error &error) {
        return error.what();
    }
    return "";
}

struct folder {
    folder()
    {
        char name[] = "/tmp/ufx-test-XXXXXX";
        REQUIRE(::mkdtemp(name) != nullptr);
        path = name;
    }
    ~folder() { std::system(("rm -rf " + path).c_str()); }
    int files() const
    {
        std::system(("ls -A " + path + " | wc -l >" + path + ".count").c_str());
        int count = -1;
        std::ifstream(path + ".count") >> count;
        ::unlink((path + ".count").c_str());
        return count;
    }
    std::string path;
};

} // namespace

TEST_CASE("tools: sizes are read with their units", "[tools]")
{
    CHECK(parse_size("0", "-s") == 0);
    CHECK(parse_size("4096", "-s") == 4096);
    CHECK(parse_size("64k", "-s") == 65536);
    CHECK(parse_size("1M", "-s") == 1048576);
    CHECK(parse_size("2GiB", "-s") == uint64_t{2} << 30);
    CHECK(parse_size("3b", "-s") == 3);
    for (const char *wrong :
         {"", "k", "-1", "1x", "1kk", "1.5k", "99999999999999999999", "18446744073709551615k"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(parse_size(wrong, "-s"), tool_error);
    }
}

TEST_CASE("tools: numbers are within their range, and the error names it", "[tools]")
{
    CHECK(parse_number("1", "-p", {1, 65535}) == 1);
    CHECK(parse_number("65535", "-p", {1, 65535}) == 65535);
    for (const char *wrong : {"", "0", "65536", "-1", "1x", " 1", "1.5", "99999999999999999999"}) {
        CAPTURE(wrong);
        CHECK_THROWS_WITH(parse_number(wrong, "-p", {1, 65535}),
                          Catch::Contains("is no number from 1 to 65535"));
    }
    CHECK_THROWS_WITH(parse_number("0", "-n", {1, UINT64_MAX}), Catch::Contains("of at least 1"));
}

TEST_CASE("tools: seconds and rates are numbers with what they may have, and nothing else",
          "[tools]")
{
    CHECK(parse_seconds("5", "--seconds", 10) == 5);
    CHECK(parse_seconds("2.5", "--seconds", 10) == 2.5);
    for (const char *wrong : {"", "abc", "5s", "0", "-1", "10.1", "inf", "nan", " 5"}) {
        CAPTURE(wrong);
        CHECK_THROWS_WITH(parse_seconds(wrong, "--seconds", 10),
                          Catch::Contains("--seconds: '" + std::string(wrong) +
                                          "' is no number of seconds above 0, at most 10"));
    }
    CHECK(parse_tc_rate("1gbit", "--rate") == 1000000000);
    CHECK(parse_tc_rate("1.5Mbit", "--rate") == 1500000);
    CHECK(parse_tc_rate("2kibit", "--rate") == 2048);
    CHECK(parse_tc_rate("10kbps", "--rate") == 80000);
    CHECK(parse_tc_rate("300bit", "--rate") == 300);
    CHECK(parse_tc_rate("1tbit", "--rate") == 1000000000000);
    for (const char *wrong : {"", "bogus", "1", "1g", "0gbit", "-1gbit", "1xbit", "1kkbit",
                              "1 gbit", "gbit", "1gbits", "2tbit", "1e99gbit"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(parse_tc_rate(wrong, "--rate"), tool_error);
    }
}

TEST_CASE("tools: a word that is near a known one is taken for a slip of the finger", "[tools]")
{
    const word_list verbs = {"drain", "resume"};
    CHECK(nearest("drian", verbs) == "drain");
    CHECK(nearest("Resume", verbs) == "resume");
    CHECK(nearest("rsume", verbs) == "resume");
    CHECK(nearest("drainn", verbs) == "drain");
    CHECK(nearest("stop", verbs).empty());
    CHECK(nearest("", verbs).empty());
    CHECK(nearest("x", {"a", "b"}).empty());
    CHECK(nearest("put_lt", {"am_lat", "get_lat", "put_lat"}) == "put_lat");
    CHECK(none_of("drian", verbs) == "'drian' is none of drain, resume; did you mean 'drain'?");
    CHECK(none_of("stop", verbs) == "'stop' is none of drain, resume");
}

TEST_CASE("tools: crc32 is that of IEEE 802.3, in any pieces", "[tools]")
{
    const std::string text = "123456789";
    CHECK(crc32(text.data(), text.size()) == 0xcbf43926u);
    CHECK(crc32(text.data(), 0) == 0);
    std::string longer;
    for (int i = 0; i < 1000; i++) {
        longer.push_back(static_cast<char>(i * 7));
    }
    const uint32_t whole = crc32(longer.data(), longer.size());
    for (size_t cut = 0; cut < 40; cut++) {
        const uint32_t first = crc32(longer.data(), cut);
        CHECK(crc32(longer.data() + cut, longer.size() - cut, first) == whole);
    }
}

TEST_CASE("tools: fields cross as lines and refuse what is none", "[tools][T09]")
{
    const fields sent = {{"a", 17u}, {"b", true}, {"c", "x=y\nz"}};
    const auto got = fields::parse(sent.dump());
    REQUIRE(got);
    CHECK(got->number("a") == 17);
    CHECK(got->flag("b"));
    CHECK(got->text("c") == "x=y z");
    CHECK_THROWS_WITH(got->text("d"), Catch::Contains("without 'd'"));
    CHECK_THROWS_AS(got->number("c"), tool_error);
    CHECK_THROWS_AS(got->number("a", 16), tool_error);
    CHECK(fields::parse(""));
    for (const char *wrong : {"a", "a\n", "=b\n", "a=b", "a=b\nc\n"}) {
        CAPTURE(wrong);
        CHECK_FALSE(fields::parse(wrong));
    }
    CHECK_THROWS_AS(from_hex("0g"), tool_error);
    CHECK(from_hex(to_hex("\x01\xff", 2)) == "\x01\xff");
}

TEST_CASE("tools: frames arrive whole, byte by byte", "[tools]")
{
    pair ends;
    channel sender(std::move(ends.left));
    channel receiver(std::move(ends.right));
    sender.send(frame_type::HELLO, {{"number", 42u}});
    sender.send(frame_type::DONE, fields());
    CHECK(receiver.expect(frame_type::HELLO, 1000).number("number") == 42);
    CHECK_NOTHROW(receiver.expect(frame_type::DONE, 1000));
    CHECK_FALSE(receiver.poll());

    pair slow;
    channel other(std::move(slow.right));
    const std::string bytes = header("UFXT", CHANNEL_VERSION, 1, 4) + "k=1\n";
    for (size_t i = 0; i + 1 < bytes.size(); i++) {
        slow.write(bytes.substr(i, 1));
        REQUIRE_FALSE(other.poll());
    }
    slow.write(bytes.substr(bytes.size() - 1));
    const auto message = other.poll();
    REQUIRE(message);
    CHECK(message->body.number("k") == 1);
}

namespace {

/** A reception on a port of the system's choice, and who knocks. */
struct door {
    door()
    {
        fd listener = listen_on(0);
        sockaddr_in6 address = {};
        socklen_t length = sizeof(address);
        REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr *>(&address), &length) ==
                0);
        port = ntohs(address.sin6_port);
        desk.emplace(std::move(listener), "perftest", "run the other one",
                     [this](const std::string &line) { told.push_back(line); });
    }

    fd knock(const std::string &bytes = "") const
    {
        fd socket = connect_to("127.0.0.1", port, 10000);
        REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(bytes.size()));
        return socket;
    }

    /** Looks until that many were told of. */
    void until_told(size_t count, uint64_t now)
    {
        for (int i = 0; i < 1000 && told.size() < count; i++) {
            REQUIRE_FALSE(desk->look(10, now));
        }
        REQUIRE(told.size() == count);
    }

    uint16_t port = 0;
    std::vector<std::string> told;
    std::optional<reception> desk;
};

std::string hello_of(const std::string &tool)
{
    const std::string body = "tool=" + tool + "\n";
    return header("UFXT", CHANNEL_VERSION, 1, static_cast<uint32_t>(body.size())) + body;
}

std::string all_of(const fd &socket)
{
    std::string text;
    char part[512];
    for (ssize_t n = 0; (n = ::recv(socket.get(), part, sizeof(part), 0)) != 0;) {
        pollfd wait = {socket.get(), POLLIN, 0};
        if (n > 0) {
            text.append(part, static_cast<size_t>(n));
        } else if (errno != EAGAIN || ::poll(&wait, 1, 10000) == 0) {
            break;
        }
    }
    return text;
}

} // namespace

TEST_CASE("tools: a server tells of each foreign connection once, and waits on", "[tools]")
{
    door in;
    const fd browser = in.knock("GET / HTTP/1.1\r\n\r\n");
    in.until_told(1, 0);
    CHECK_THAT(in.told[0], Catch::Contains("closed a connection from 127.0.0.1 port ") &&
                               Catch::Contains("does not speak the protocol"));
    in.knock();
    in.until_told(2, 0);
    CHECK_THAT(in.told[1], Catch::Contains("closed its connection"));
    const fd other_tool = in.knock(hello_of("failover"));
    in.until_told(3, 0);
    CHECK_THAT(in.told[2], Catch::Contains("run the other one"));
    CHECK_THAT(all_of(other_tool), Catch::Contains("run the other one"));
    const fd unasked = in.knock(header("UFXT", CHANNEL_VERSION, 5, 0));
    in.until_told(4, 0);

    const fd silent = in.knock(), friendly = in.knock(hello_of("perftest"));
    std::optional<client> found;
    for (int i = 0; i < 1000 && !found; i++) {
        found = in.desk->look(10, 0); // time stands still: the silent one keeps nobody waiting
    }
    REQUIRE(found);
    CHECK(found->hello.text("tool") == "perftest");
    CHECK(in.told.size() == 4);
}

TEST_CASE("tools: who says nothing is sent away, and so is who is one too many", "[tools]")
{
    door in;
    const fd silent = in.knock();
    CHECK_FALSE(in.desk->look(10000, 0));
    CHECK_FALSE(in.desk->look(0, reception::SILENCE_NS));
    CHECK(in.told.empty());
    in.until_told(1, reception::SILENCE_NS + 1);
    CHECK_THAT(in.told[0], Catch::Contains("it says nothing"));
    CHECK_THAT(all_of(silent), Catch::Contains("it says nothing"));

    std::vector<fd> crowd;
    for (size_t i = 0; i < reception::GUESTS + 3; i++) {
        crowd.push_back(in.knock());
        CHECK_FALSE(in.desk->look(10000, 0));
    }
    in.until_told(1 + 3, 0);
    CHECK_THAT(in.told[3], Catch::Contains("too many"));
}

TEST_CASE("tools: a hostile or truncated frame is one clear error", "[tools][T09]")
{
    const std::string good = header("UFXT", CHANNEL_VERSION, 1, 4);
    CHECK(complaint("") == "the peer closed its connection: it ended or was killed");
    CHECK(complaint("GET / HTTP/1.1\r\n") ==
          "the peer does not speak the protocol of ufx_perftest");
    CHECK(complaint("U") == "the peer closed its connection in the middle of a message");
    CHECK(complaint(good) == "the peer closed its connection in the middle of a message");
    CHECK(complaint(good + "k=") == "the peer closed its connection in the middle of a message");
    CHECK(complaint(good + "xxxx") == "the peer sent a message that does not parse");
    CHECK_THAT(complaint(header("UFXT", CHANNEL_VERSION + 1, 1, 0)),
               Catch::Contains("of another version: it speaks protocol " +
                               std::to_string(CHANNEL_VERSION + 1)));
    CHECK(complaint(header("UFXT", CHANNEL_VERSION, 1, FRAME_MAX + 1)) ==
          "the peer sent a malformed message header");
    CHECK(complaint(header("UFXT", CHANNEL_VERSION, 1, 0, 1)) ==
          "the peer sent a malformed message header");
    CHECK_THAT(complaint(header("UFXT", CHANNEL_VERSION, 5, 0)), Catch::Contains("where 1 is due"));
    CHECK(complaint(header("UFXT", CHANNEL_VERSION, 7, 11) + "text=no way\n").empty() == false);
    CHECK(complaint(header("UFXT", CHANNEL_VERSION, 7, 12) + "text=no way\n") ==
          "the peer says: no way");
}

TEST_CASE("tools: a silent peer is an error in time", "[tools]")
{
    pair ends;
    channel mine(std::move(ends.right));
    CHECK_THROWS_WITH(mine.expect(frame_type::HELLO, 10), Catch::Contains("does not answer"));
}

TEST_CASE("tools: rails cross with their addresses, and refuse what is none", "[tools][T09]")
{
    const std::vector<rail_place> sent = {
        {"tcp", "lo:127.0.0.2", net_address::parse("127.0.0.2/8")},
        {"tcp", "eth0", net_address::parse("fd00::2/64")},
        {"rc", "mlx5_0:1", {}}};
    fields wire;
    write_rails(sent, wire);
    const std::vector<rail_place> got = read_rails(wire);
    REQUIRE(got.size() == 3);
    CHECK(show_devices(got) == "lo:127.0.0.2,eth0,mlx5_0:1");
    CHECK(got[0].address.text() == "127.0.0.2/8");
    CHECK(got[1].address.text() == "fd00::2/64");
    CHECK(got[2].address.text().empty());
    for (const char *wrong :
         {"", "tcp", "tcp lo", "tcp lo 127.0.0.1", "tcp lo 127.0.0.1/33", "tcp lo 1/8",
          "tcp lo ::/129", "tcp lo 127.0.0.1/8 x", "tcp lo /8,"}) {
        CAPTURE(wrong);
        wire.set("rails", wrong);
        CHECK_THROWS_AS(read_rails(wire), tool_error);
    }
    std::string many = "tcp a ";
    for (int i = 0; i < UFX_UCP_RAILS_MAX; i++) {
        many += ",tcp a ";
    }
    wire.set("rails", many);
    CHECK_THROWS_AS(read_rails(wire), tool_error);
}

TEST_CASE("tools: rails that cannot meet are told apart by both names", "[tools]")
{
    const auto rail = [](const char *device, const char *address) {
        return rail_place{"tcp", device, net_address::parse(address)};
    };
    const rail_place here = rail("lo", "127.0.0.1/8"), there = rail("eth0", "10.0.0.1/24");
    const rail_place other = rail("eth1", "10.9.0.1/24"), six = rail("eth2", "fd00::1/64");
    CHECK_NOTHROW(check_rails({here}, {rail("lo:127.0.0.9", "127.0.0.9/8")}, true));
    CHECK_NOTHROW(check_rails({there}, {other}, true)); // a router may be between them
    CHECK_THROWS_WITH(check_rails({there}, {here}, false),
                      Catch::Contains("rails (eth0) do not reach the client's (lo)"));
    CHECK_THROWS_AS(check_rails({six}, {there}, false), tool_error);
    CHECK_THROWS_AS(check_rails({rail_place{"rc", "eth0", there.address}}, {there}, false),
                    tool_error);
    CHECK_NOTHROW(check_rails({there}, {there, here}, false));
    CHECK_THROWS_WITH(check_rails({there}, {there, here}, true), Catch::Contains("all of"));
}

TEST_CASE("tools: a bare server takes the client's subnets", "[tools]")
{
    const auto client = [](const char *device, const char *address) {
        return rail_place{"tcp", device, net_address::parse(address)};
    };
    CHECK(devices_for({client("lo:127.0.0.2", "127.0.0.2/8"), client("lo", "127.0.0.1/8")}) ==
          "lo:127.0.0.2,lo");
    CHECK(devices_for({client("nosuch0", "203.0.113.77/32")}).empty());
    CHECK(devices_for({client("lo", "127.0.0.1/8"), client("mlx5_0:1", "")}).empty());
    for (const net_device &one : list_net_devices()) {
        if (!one.address.loopback()) {
            CAPTURE(one.name);
            CHECK(devices_for({client("other", one.address.text().c_str())}) == one.name);
        }
    }
    CHECK(interface_towards("127.0.0.1") == "lo");
}

TEST_CASE("tools: an output file is whole or absent", "[tools]")
{
    folder place;
    const std::string path = place.path + "/out";
    {
        output_file file(path);
        file.write_at(0, "half", 4);
        CHECK_FALSE(std::ifstream(path).good());
    }
    CHECK(place.files() == 0);
    {
        output_file file(path);
        file.append("who");
        file.append("le");
        char back[5];
        file.read_at(0, back, sizeof(back));
        CHECK(std::string(back, 5) == "whole");
        file.commit();
    }
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    CHECK(text.str() == "whole");
    write_text(path, "again");
    CHECK(place.files() == 1);
    CHECK_THROWS_WITH(output_file(place.path + "/no/where"), Catch::Contains("No such file"));
    CHECK_THROWS_WITH(output_file(place.path), Catch::Contains("not a regular file"));
}
