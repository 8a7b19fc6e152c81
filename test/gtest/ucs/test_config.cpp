// SPDX-License-Identifier: BSD-3-Clause
// Configuration: values, rows, sources, warnings, printing.
#include "ucs/config.h"
#include "ucs/config_file.h"
#include "ucs/config_parse.h"
#include "ucs/log_capture.h"

#include "ucs/environment.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>

using namespace ufx;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

enum class mode { none, peer, failover };

struct sample {
    bool flag;
    int count;
    uint8_t small;
    size_t seg;
    std::chrono::nanoseconds grace;
    double ratio;
    mode kind;
    std::string device;
    std::vector<std::string> rails;
};

constexpr ucs::config_enum modes[] = {{"none", 0}, {"peer", 1}, {"failover", 2}};

constexpr ucs::config_option<sample> rows[] = {
    ucs::option<&sample::flag>("FLAG", "y", "A flag."),
    ucs::option<&sample::count>("COUNT", "7", "A count.").range(0, 31),
    ucs::option<&sample::small>("SMALL", "3", "A byte."),
    ucs::option<&sample::seg>("SEG_SIZE", "8kb", "Bytes a segment.").range(1024, 1 << 20),
    ucs::option<&sample::grace>("GRACE", "300ms", "Time.").range(1ms, 60s),
    ucs::option<&sample::ratio>("RATIO", "0.5", "A ratio.").range(0, 1),
    ucs::option<&sample::kind>("KIND", "failover", "A choice.").names(modes),
    ucs::option<&sample::device>("DEVICE", "", "A text."),
    ucs::option<&sample::rails>("RAILS", "a,b", "A list."),
};

constexpr ucs::config_table<sample> table{"sample", "SAMPLE_", rows};

// A configuration file for the length of a test.
class conf_file {
public:
    explicit conf_file(const std::string &text)
        : path_("/tmp/ufx_conf_test." + std::to_string(::getpid())),
          variable_("UFX_CONFIG_FILE", path_.c_str())
    {
        std::ofstream(path_) << text;
        ufx_ucs_config_reload();
    }

    ~conf_file()
    {
        ::unlink(path_.c_str());
        variable_.unset();
        ufx_ucs_config_reload();
    }

private:
    std::string path_;
    test::environment variable_;
};

std::string print(unsigned flags)
{
    char *text = nullptr;
    size_t size = 0;
    std::FILE *stream = ::open_memstream(&text, &size);
    ufx_ucs_config_print(stream, flags);
    std::fclose(stream);
    std::string all(text, size);
    std::free(text);
    return all;
}

} // namespace

TEST_CASE("config: sizes are powers of 1024 with any case of unit", "[ucs][config]")
{
    int64_t bytes = -1;
    auto size = [&](const char *text) { return ucs::parse_size(text, bytes) ? bytes : -1; };
    CHECK(size("0") == 0);
    CHECK(size(" 8kb ") == 8192);
    CHECK(size("8 KB") == 8192);
    CHECK(size("3m") == 3 << 20);
    CHECK(size("1g") == 1 << 30);
    CHECK(size("17b") == 17);
    CHECK(size("inf") == INT64_MAX);
    for (const char *bad : {"", "kb", "-1", "1.5kb", "8kbb", "8 k b", "0x10", "9223372036854775808",
                            "9223372036854775807kb"}) {
        CAPTURE(bad);
        CHECK_FALSE(ucs::parse_size(bad, bytes));
    }
}

TEST_CASE("config: times need a unit and may have a fraction", "[ucs][config]")
{
    int64_t ns = -1;
    auto time = [&](const char *text) { return ucs::parse_time(text, ns) ? ns : -1; };
    CHECK(time("0") == 0);
    CHECK(time("20ms") == 20000000);
    CHECK(time("0.5s") == 500000000);
    CHECK(time("7us") == 7000);
    CHECK(time("7 ns") == 7);
    CHECK(time("2m") == 120000000000);
    CHECK(time("inf") == INT64_MAX);
    for (const char *bad : {"", "30", "s", "-1s", "1h", "1e300s", "nan", "10000000000s", ".5s"}) {
        CAPTURE(bad);
        CHECK_FALSE(ucs::parse_time(bad, ns));
    }
}

TEST_CASE("config: rates are bits a second", "[ucs][config]")
{
    int64_t rate = -1;
    auto parse = [&](const char *text) { return ucs::parse_rate(text, rate) ? rate : -1; };
    CHECK(parse("10Gb/s") == 10000000000);
    CHECK(parse("2.5 Gbit/s") == 2500000000);
    CHECK(parse("0b/s") == 0);
    for (const char *bad :
         {"", "10", "10GB/s", "nanGb/s", "-1b/s", "1e30Gb/s", "99999999999Gb/s"}) {
        CAPTURE(bad);
        CHECK_FALSE(ucs::parse_rate(bad, rate));
    }
}

TEST_CASE("config: integers, booleans, numbers and lists", "[ucs][config]")
{
    int64_t number = 0;
    CHECK((ucs::parse_integer("-12", number) && number == -12));
    CHECK((ucs::parse_integer("0x1F", number) && number == 31));
    CHECK_FALSE(ucs::parse_integer("12a", number));
    CHECK_FALSE(ucs::parse_integer("", number));
    CHECK_FALSE(ucs::parse_integer("--1", number));
    CHECK_FALSE(ucs::parse_integer("9223372036854775808", number));
    bool flag = false;
    CHECK((ucs::parse_bool("Yes", flag) && flag));
    CHECK((ucs::parse_bool("0", flag) && !flag));
    CHECK_FALSE(ucs::parse_bool("maybe", flag));
    double real = 0;
    CHECK((ucs::parse_real("2.5", real) && real == 2.5));
    CHECK_FALSE(ucs::parse_real("inf", real));
    CHECK(ucs::parse_list(" a, b ,,c") == std::vector<std::string>{"a", "b", "c"});
    CHECK(ucs::parse_list("").empty());
}

TEST_CASE("config: a printed size or time is read back as the same", "[ucs][config]")
{
    for (int64_t value : {0l, 1l, 1000l, 1024l, 1536l, 1l << 20, 60000000000l, INT64_MAX}) {
        int64_t back = -1;
        CHECK((ucs::parse_size(ucs::format_size(value), back) && back == value));
        CHECK((ucs::parse_time(ucs::format_time(value), back) && back == value));
    }
    CHECK(ucs::format_size(8192) == "8kb");
    CHECK(ucs::format_time(300000000) == "300ms");
}

TEST_CASE("config: edit distance counts a swap as one", "[ucs][config]")
{
    CHECK(ucs::edit_distance("", "abc") == 3);
    CHECK(ucs::edit_distance("SEG_SIZE", "SEG_SIZE") == 0);
    CHECK(ucs::edit_distance("SGE_SIZE", "SEG_SIZE") == 1);
    CHECK(ucs::edit_distance("SEGSIZE", "SEG_SIZE") == 1);
}

TEST_CASE("config: defaults are what the rows say", "[ucs][config]")
{
    sample values = table.load();
    CHECK(values.flag);
    CHECK(values.count == 7);
    CHECK(values.small == 3);
    CHECK(values.seg == 8192);
    CHECK(values.grace == 300ms);
    CHECK(values.ratio == 0.5);
    CHECK(values.kind == mode::failover);
    CHECK(values.device.empty());
    CHECK(values.rails == std::vector<std::string>{"a", "b"});
}

TEST_CASE("config: the environment wins over the file, the file over the default", "[ucs][config]")
{
    conf_file file("# comment\nUFX_SAMPLE_COUNT = 9\nUFX_SAMPLE_SEG_SIZE=16kb\n"
                   "UFX_SAMPLE_KIND=Peer\n");
    test::environment seg("UFX_SAMPLE_SEG_SIZE", "32kb");
    sample values = table.load();
    CHECK(values.count == 9);
    CHECK(values.seg == 32768);
    CHECK(values.kind == mode::peer);
    ufx_ucs_config_source_t source = UFX_UCS_CONFIG_DEFAULT;
    CHECK(std::string(ufx_ucs_config_get("UFX_SAMPLE_COUNT", &source)) == "9");
    CHECK(source == UFX_UCS_CONFIG_FILE);
    CHECK(std::string(ufx_ucs_config_get("UFX_SAMPLE_SEG_SIZE", &source)) == "32kb");
    CHECK(source == UFX_UCS_CONFIG_ENVIRONMENT);
    CHECK(ufx_ucs_config_get("UFX_SAMPLE_FLAG", &source) == nullptr);
    CHECK(source == UFX_UCS_CONFIG_DEFAULT);
}

TEST_CASE("config: a value that cannot be used warns once and keeps the default", "[ucs][config]")
{
    struct bad_value {
        const char *name;
        const char *text;
        const char *reason;
    };
    const bad_value all[] = {
        {"UFX_SAMPLE_FLAG", "perhaps", "expected y or n"},
        {"UFX_SAMPLE_COUNT", "32", "out of range 0..31"},
        {"UFX_SAMPLE_COUNT", "many", "not a whole number"},
        {"UFX_SAMPLE_SMALL", "256", "out of range 0..255"},
        {"UFX_SAMPLE_SEG_SIZE", "2mb", "out of range 1kb..1mb"},
        {"UFX_SAMPLE_GRACE", "300", "not a time with a unit"},
        {"UFX_SAMPLE_GRACE", "2m", "out of range 1ms..1m"},
        {"UFX_SAMPLE_RATIO", "1.5", "out of range 0..1"},
        {"UFX_SAMPLE_KIND", "fail", "expected one of none, peer, failover"},
    };
    ufx_ucs_config_reload();
    for (const bad_value &bad : all) {
        CAPTURE(bad.name, bad.text);
        test::environment variable(bad.name, bad.text);
        ucs::log_capture log;
        sample values = table.load();
        values = table.load();
        INFO(log.text());
        CHECK(log.count(UFX_UCS_LOG_WARN) == 1);
        CHECK(log.count(bad.reason) == 1);
        CHECK(values.flag);
        CHECK(values.count == 7);
        CHECK(values.small == 3);
        CHECK(values.seg == 8192);
        CHECK(values.grace == 300ms);
        CHECK(values.ratio == 0.5);
        CHECK(values.kind == mode::failover);
    }
}

TEST_CASE("config: a row that nobody has read yet is shown as it will be", "[ucs][config]")
{
    ufx_ucs_config_reload();
    test::environment bad("UFX_SAMPLE_COUNT", "99");
    test::environment good("UFX_SAMPLE_GRACE", "20ms");
    ucs::log_capture log;
    table.register_rows();
    const std::string shown = print(0);
    CHECK(shown.find("UFX_SAMPLE_COUNT=7\n") != std::string::npos);
    CHECK(shown.find("UFX_SAMPLE_GRACE=20ms\n") != std::string::npos);
    CHECK(log.count(UFX_UCS_LOG_WARN, "UFX_SAMPLE_COUNT=99: out of range 0..31") == 1);
    CHECK(table.load().count == 7);
    CHECK(log.count("UFX_SAMPLE_COUNT") == 1);
}

TEST_CASE("config: an unknown name warns once with the nearest one", "[ucs][config]")
{
    ufx_ucs_config_reload();
    table.register_rows();
    test::environment typo("UFX_SAMPLE_SEG_SZIE", "8kb");
    test::environment far("UFX_COMPLETELY_DIFFERENT_THING", "1");
    test::environment tests_own("UFX_TEST_ANYTHING", "1");
    ucs::log_capture log;
    unsigned first = ufx_ucs_config_check_unknown();
    INFO(log.text());
    CHECK(log.count("UFX_SAMPLE_SEG_SZIE; did you mean UFX_SAMPLE_SEG_SIZE?") == 1);
    CHECK(log.count("UFX_COMPLETELY_DIFFERENT_THING") == 1);
    CHECK(log.count("UFX_COMPLETELY_DIFFERENT_THING; did you mean") == 0);
    CHECK(log.count("UFX_TEST_ANYTHING") == 0);
    size_t lines = log.lines().size();
    CHECK(ufx_ucs_config_check_unknown() == first);
    CHECK(log.lines().size() == lines);
}

TEST_CASE("config: an unknown name in the file warns too", "[ucs][config]")
{
    table.register_rows();
    conf_file file("UFX_SAMPLE_CUONT=3\n");
    ucs::log_capture log;
    CHECK(ufx_ucs_config_check_unknown() >= 1);
    CHECK(log.count("did you mean UFX_SAMPLE_COUNT?") == 1);
}

TEST_CASE("config: a file that is none warns of a few lines, and says how many more there are",
          "[ucs][config]")
{
    std::string text;
    for (int i = 10; i < 60; i++) {
        text += "UFX_NO_SETTING_OF_OURS_" + std::to_string(i) + "=1\nno line at all\n";
    }
    const ucs::log_capture log;
    conf_file file(text);
    CHECK(ufx_ucs_config_check_unknown() >= 50);
    INFO(log.text());
    CHECK(log.count("no '='") == 5);
    CHECK(log.count("and 45 more lines that are no settings") == 1);
    CHECK(log.count("unknown configuration name UFX_NO_SETTING_OF_OURS_") == 5);
    CHECK(log.count("and 45 more unknown configuration names") == 1);
    const size_t lines = log.lines().size();
    CHECK(ufx_ucs_config_check_unknown() >= 50);
    CHECK(log.lines().size() == lines);
}

TEST_CASE("config file: lines that do not parse are named and the others count", "[ucs][config]")
{
    auto file = ucs::parse_config_file("UFX_A=1\nno equal sign\n=2\nucx_b=3\r\n"
                                       "  UFX_C =  four = 4 \r\nUFX_A=5\n"
                                       "UFX_N=a\0b\nUFX_LAST=6"sv);
    CHECK(file.values.size() == 3);
    CHECK(file.values["UFX_A"] == "5");
    CHECK(file.values["UFX_C"] == "four = 4");
    CHECK(file.values["UFX_LAST"] == "6");
    REQUIRE(file.faults.size() == 4);
    CHECK(file.faults[0].find("line 2:") == 0);
    CHECK(file.faults[3].find("line 7:") == 0);
}

TEST_CASE("config file: one that was asked for and is missing gives one warning", "[ucs][config]")
{
    ucs::log_capture log;
    test::environment variable("UFX_CONFIG_FILE", "/nonexistent/ufx.conf");
    ufx_ucs_config_reload();
    ufx_ucs_config_get("UFX_SAMPLE_COUNT", nullptr);
    ufx_ucs_config_get("UFX_SAMPLE_COUNT", nullptr);
    CHECK(log.lines().size() == 1);
    CHECK(log.count(UFX_UCS_LOG_WARN, "/nonexistent/ufx.conf: cannot be opened: No such file") ==
          1);
    variable.set("");
    ufx_ucs_config_reload();
    log.clear();
    ufx_ucs_config_get("UFX_SAMPLE_COUNT", nullptr);
    CHECK(log.lines().empty());
}

TEST_CASE("config: printed rows are a configuration file with the values in effect",
          "[ucs][config]")
{
    ufx_ucs_config_reload();
    test::environment count("UFX_SAMPLE_COUNT", "11");
    test::environment seg("UFX_SAMPLE_SEG_SIZE", "1");
    ucs::log_capture log;
    static_cast<void>(table.load());
    auto file = ucs::parse_config_file(print(UFX_UCS_CONFIG_PRINT_HELP));
    CHECK(file.faults.empty());
    CHECK(file.values["UFX_SAMPLE_COUNT"] == "11");
    CHECK(file.values["UFX_SAMPLE_SEG_SIZE"] == "8kb");
    CHECK(file.values["UFX_LOG_LEVEL"] == "warn");
    std::string full = print(UFX_UCS_CONFIG_PRINT_HELP);
    CHECK(full.find("# A count.\n# type: integer, 0..31; default: 7; from: environment\n"
                    "UFX_SAMPLE_COUNT=11\n") != std::string::npos);
    std::string changed = print(UFX_UCS_CONFIG_PRINT_CHANGED_ONLY);
    CHECK(changed.find("UFX_SAMPLE_COUNT=11\n") != std::string::npos);
    CHECK(changed.find("UFX_SAMPLE_FLAG") == std::string::npos);
}

TEST_CASE("config: what only the environment may set is printed as a comment", "[ucs][config]")
{
    test::environment trace("UFX_TRACE_FD", "9");
    ufx_ucs_config_reload();
    for (const unsigned flags : {0u, unsigned{UFX_UCS_CONFIG_PRINT_HELP}}) {
        const std::string shown = print(flags);
        CHECK(shown.find("\n# UFX_TRACE_FD=9\n") != std::string::npos);
        auto file = ucs::parse_config_file(shown);
        CHECK(file.faults.empty());
        CHECK_FALSE(file.values.contains("UFX_CONFIG_FILE"));
        CHECK_FALSE(file.values.contains("UFX_TRACE_FD"));
        CHECK(file.values.contains("UFX_LOG_LEVEL"));
    }
}

TEST_CASE("config: an empty list is refused, for it names nothing", "[ucs][config]")
{
    ufx_ucs_config_reload();
    ucs::log_capture log;
    for (const char *text : {"", " , ,"}) {
        test::environment rails("UFX_SAMPLE_RAILS", text);
        CHECK(table.load().rails == std::vector<std::string>{"a", "b"});
    }
    CHECK(log.count(UFX_UCS_LOG_WARN, "an empty list; using the default 'a,b'") == 2);
}

TEST_CASE("config: rows of other names or without text are refused", "[ucs][config]")
{
    ufx_ucs_config_row_t row = {sizeof(row), "HOME", "text", "", "Not ours."};
    CHECK(ufx_ucs_config_register("x", &row) == UFX_ERR_INVALID_PARAM);
    row.name = "UFX_SAMPLE_OUTSIDE";
    row.help = nullptr;
    CHECK(ufx_ucs_config_register("x", &row) == UFX_ERR_INVALID_PARAM);
    row.help = "From outside.";
    row.size = 8;
    CHECK(ufx_ucs_config_register("x", &row) == UFX_ERR_INVALID_PARAM);
    row.size = sizeof(row);
    CHECK(ufx_ucs_config_register("x", &row) == UFX_OK);
    CHECK(ufx_ucs_config_register("x", &row) == UFX_OK);
}
