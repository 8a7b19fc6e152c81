// SPDX-License-Identifier: BSD-3-Clause
// Options and lines of ufx_perftest.
#include <catch2/catch.hpp>

#include "tools/common/error.h"
#include "tools/perftest/options.h"
#include "tools/perftest/port.h"
#include "tools/perftest/report.h"

#include <string>
#include <vector>

using namespace ufx::tools;
using namespace ufx::tools::perftest;

namespace {

options parse(std::vector<std::string> words)
{
    words.insert(words.begin(), "ufx_perftest");
    std::vector<char *> argv;
    for (std::string &word : words) {
        argv.push_back(word.data());
    }
    return parse_options(static_cast<int>(argv.size()), argv.data());
}

} // namespace

TEST_CASE("perftest: the tests that must be there are there", "[tools]")
{
    for (const char *name :
         {"am_lat", "am_bw", "put_lat", "put_bw", "get_lat", "get_bw", "fadd", "cswap",
          "ucp_put_lat", "ucp_put_bw", "ucp_get_bw", "ucp_am_lat", "ucp_am_bw", "ucp_fadd"}) {
        CAPTURE(name);
        REQUIRE(find_test(name) != nullptr);
        CHECK_THAT(list_tests(), Catch::Contains(name));
    }
    CHECK(find_test("tag_lat") == nullptr);
}

TEST_CASE("perftest: options default by the test, and cross to the server", "[tools]")
{
    options client = parse({"host", "-t", "put_bw", "-s", "64k", "-D", "zcopy", "--validate"});
    CHECK(client.window == 32);
    CHECK(client.iterations == 1000);
    CHECK(client.warmup == 100);
    CHECK(parse({"host", "-t", "am_lat"}).window == 1);
    CHECK(parse({"host", "-t", "fadd"}).window == 1);
    CHECK(parse({}).what == nullptr);
    CHECK(parse({"host", "-t", "ucp_fadd", "-T", "4"}).threads == 4);
    fields wire;
    write_options(client, wire);
    options server = parse({});
    read_options(wire, server);
    CHECK(server.what == client.what);
    CHECK(server.size == 65536);
    CHECK(server.how == layout::ZCOPY);
    CHECK(server.validate);
    wire.set("test", "nonsense");
    CHECK_THROWS_AS(read_options(wire, server), tool_error);
    wire.set("test", "put_bw");
    wire.set("size", uint64_t{1} << 40);
    CHECK_THROWS_AS(read_options(wire, server), tool_error);
}

TEST_CASE("perftest: a wrong option is a usage error", "[tools]")
{
    const std::vector<std::vector<std::string>> wrong = {
        {"-z"},
        {"host"},
        {"host", "-t", "nonsense"},
        {"host", "-t", "am_lat", "-s", "big"},
        {"host", "-t", "am_lat", "-s", "0"},
        {"host", "-t", "am_lat", "-s", "2G"},
        {"host", "-t", "fadd", "-s", "16"},
        {"host", "-t", "am_lat", "-D", "fast"},
        {"host", "-t", "am_lat", "-n", "x"},
        {"host", "-t", "am_lat", "-d", ","},
        {"host", "-t", "am_lat", "-p", "0"},
        {"failver"},
        {"host", "-t", "am_lat", "-l"},
        {"-t", "ucp_am_lat", "-l"},
        {"host", "-t", "am_bw", "-T", "2"},
        {"host", "-t", "ucp_am_lat", "-T", "2"},
        {"host", "-t", "am_lat", "-O", "2"},
        {"host", "-t", "fadd", "-D", "short"},
        {"host", "-t", "ucp_put_bw", "-D", "bcopy"},
        {"host", "-t", "ucp_put_bw", "-x", "tcp"},
        {"host", "-t", "am_bw", "-v", "-N"},
        {"-l", "-t", "am_bw", "-p", "1234"}};
    for (const auto &words : wrong) {
        CAPTURE(words);
        try {
            parse(words);
            FAIL("accepted");
        } catch (const tool_error &error) {
            CHECK(error.exit_status() == EXIT_USAGE);
        }
    }
}

TEST_CASE("perftest: a server refuses what only its client can say", "[tools]")
{
    CHECK(parse({"-p", "1234", "-d", "lo", "-x", "tcp", "-c", "0"}).host.empty());
    const std::vector<std::vector<std::string>> of_client = {
        {"-t", "am_lat"}, {"-s", "64"},   {"-n", "5"}, {"-w", "5"}, {"-O", "5"}, {"-T", "1"},
        {"-D", "short"},  {"--validate"}, {"-f"},      {"-v"},      {"-N"},      {"--json", "a"}};
    for (const auto &words : of_client) {
        CAPTURE(words);
        CHECK_THROWS_WITH(parse(words), Catch::Contains("is for the client"));
    }
}

TEST_CASE("perftest: a slip of the finger is answered by what was meant", "[tools]")
{
    CHECK_THROWS_WITH(parse({"failver"}), Catch::Contains("did you mean 'failover'?"));
    CHECK_THROWS_WITH(parse({"failver", "--input", "a"}), Catch::Contains("'failover'?"));
    CHECK(parse({"failver", "-t", "am_lat"}).host == "failver"); // a host may be named so
    CHECK_THROWS_WITH(parse({"h", "-t", "put_lta"}), Catch::Contains("did you mean 'put_lat'?"));
    CHECK_THROWS_WITH(parse({"h", "-t", "am_lat", "--sise=1"}), Catch::Contains("'--size'?"));
    CHECK_THROWS_WITH(parse({"h", "-t", "am_lat", "-D", "Short"}), Catch::Contains("'short'?"));
    CHECK_THROWS_WITH(parse({"h", "-p", "70000"}), Catch::Contains("from 1 to 65535"));
}

TEST_CASE("perftest: payloads are checked byte for byte", "[tools]")
{
    std::vector<unsigned char> bytes(300);
    fill_pattern(bytes.data(), bytes.size());
    CHECK(is_pattern(bytes.data(), bytes.size(), false));
    bytes.back() ^= 1;
    CHECK_FALSE(is_pattern(bytes.data(), bytes.size(), false));
    CHECK(is_pattern(bytes.data(), bytes.size(), true));
    for (uint64_t serial = 1; serial < 600; serial++) {
        CHECK(mark(serial) != 0);
        CHECK(mark(serial) != mark(serial + 1));
    }
}

TEST_CASE("perftest: a result is JSON, a meaningless median is null", "[tools]")
{
    figures line;
    line.iterations = 1000;
    line.median = 1.5;
    line.overall = 2;
    const options wanted = parse({"host", "-t", "am_lat", "-x", "tcp", "-d", "a\"b"});
    const std::string text = to_json(wanted, line, true);
    CHECK_THAT(text, Catch::Contains("\"test\": \"am_lat\""));
    CHECK_THAT(text, Catch::Contains("\"device\": \"a\\\"b\""));
    CHECK_THAT(text, Catch::Contains("\"median_us\": 1.500"));
    CHECK_THAT(to_json(wanted, line, false), Catch::Contains("\"median_us\": null"));
    CHECK(with_thousands("1234567") == "1,234,567");
    CHECK(with_thousands("123") == "123");
    CHECK(with_thousands("1234.56") == "1,234.56");
}
