// SPDX-License-Identifier: BSD-3-Clause
// The log, its rate limiter, and the clock of the process.
#include "ucs/fake_clock.h"
#include "ucs/log.h"
#include "ucs/log_capture.h"

#include "ucs/environment.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ufx;

namespace {

int evaluated = 0;

int count_evaluation()
{
    return ++evaluated;
}

void logs_again(void *arg, ufx_ucs_log_level_t, const char *, unsigned, const char *)
{
    ++*static_cast<int *>(arg);
    ufx_ucs_log(UFX_UCS_LOG_TRACE, "inner.cpp", 1, "from inside a handler");
}

} // namespace

TEST_CASE("log: lines above the level are dropped and cost no evaluation", "[ucs][log]")
{
    ucs::log_capture log(UFX_UCS_LOG_INFO);
    evaluated = 0;
    ufx_debug("value %d", count_evaluation());
    CHECK(evaluated == 0);
    ufx_info("value %d", count_evaluation());
    ufx_error("code %s", "E1");
    CHECK(evaluated == 1);
    REQUIRE(log.lines().size() == 2);
    CHECK(log.lines()[0].text == "value 1");
    CHECK(log.lines()[0].level == UFX_UCS_LOG_INFO);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "E1") == 1);
}

TEST_CASE("log: a long line is cut, not lost, and errno is kept", "[ucs][log]")
{
    ucs::log_capture log;
    std::string text(3000, 'x');
    errno = ENODEV;
    ufx_warn("%s", text.c_str());
    CHECK(errno == ENODEV);
    REQUIRE(log.lines().size() == 1);
    CHECK(log.lines()[0].text.size() == 1023);
}

TEST_CASE("log: a handler that logs does not deadlock", "[ucs][log]")
{
    int calls = 0;
    ufx_ucs_log_set_handler(logs_again, &calls);
    ufx_ucs_log(UFX_UCS_LOG_ERROR, "outer.cpp", 1, "outer");
    ufx_ucs_log_set_handler(nullptr, nullptr);
    CHECK(calls == 1);
}

TEST_CASE("log: the level is read from the environment, a wrong one warns", "[ucs][log]")
{
    test::environment level("UFX_LOG_LEVEL", "Debug");
    ufx_ucs_config_reload();
    CHECK(ufx_ucs_log_get_level() == UFX_UCS_LOG_DEBUG);
    level.set("loud");
    {
        ucs::log_capture log;
        ufx_ucs_config_reload();
        CHECK(ufx_ucs_log_get_level() == UFX_UCS_LOG_WARN);
        CHECK(log.count(UFX_UCS_LOG_WARN, "UFX_LOG_LEVEL=loud") == 1);
    }
    level.unset();
    ufx_ucs_config_reload();
    CHECK(ufx_ucs_log_get_level() == UFX_UCS_LOG_WARN);
}

TEST_CASE("log: a line in the file has level, place and text", "[ucs][log]")
{
    std::string pattern = "/tmp/ufx_log_test.%p";
    std::string path = "/tmp/ufx_log_test." + std::to_string(::getpid());
    test::environment file("UFX_LOG_FILE", pattern.c_str());
    ufx_ucs_config_reload();
    ufx_warn("written to a file");
    std::ifstream in(path);
    std::stringstream all;
    all << in.rdbuf();
    ::unlink(path.c_str());
    file.unset();
    ufx_ucs_config_reload();
    CHECK(all.str().find("test_log.cpp:") != std::string::npos);
    CHECK(all.str().find("WARN written to a file\n") != std::string::npos);
}

TEST_CASE("log: lines of several threads stay whole", "[ucs][log][threads]")
{
    ucs::log_capture log;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([t] {
            for (int i = 0; i < 100; i++) {
                ufx_info("thread %d line %d end", t, i);
            }
        });
    }
    for (std::thread &one : threads) {
        one.join();
    }
    CHECK(log.count(" end") == 400);
    CHECK(log.count("thread 3 line 99 end") == 1);
}

TEST_CASE("log_rate: one line an interval, the others are counted", "[ucs][log]")
{
    ucs::log_rate rate(ucs::ns_per_sec);
    CHECK(rate.allow(5));
    CHECK_FALSE(rate.allow(6));
    CHECK_FALSE(rate.allow(ucs::ns_per_sec));
    CHECK(rate.allow(5 + ucs::ns_per_sec));
    CHECK(rate.take_held_back() == 2);
    CHECK(rate.take_held_back() == 0);
}

TEST_CASE("clock: a fake clock moves only when told, the real one comes back", "[ucs][clock]")
{
    uint64_t real = ufx_ucs_time_ns();
    {
        ucs::fake_clock clock(7);
        CHECK(ucs::now_ns() == 7);
        clock.advance(std::chrono::milliseconds(2));
        CHECK(ucs::now_ns() == 7 + 2 * ucs::ns_per_ms);
    }
    CHECK(ucs::now_ns() >= real);
}
