// SPDX-License-Identifier: BSD-3-Clause
// Catch2's main, and a listener that gives one result line a test case to the test driver.
#include "common/skip.h"

#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string skip_reason;

/**
 * Writes Automake's `:test-result:` lines to the file named by UFX_TEST_RESULTS. The line of a case
 * that never ended (a crash) is completed by the driver, from the `:started:` line.
 */
class result_listener : public Catch::TestEventListenerBase
{
public:
    using TestEventListenerBase::TestEventListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo &info) override
    {
        skip_reason.clear();
        write(":started: " + one_line(info.name));
    }

    void testCaseEnded(const Catch::TestCaseStats &stats) override
    {
        const std::string name = one_line(stats.testInfo.name);
        if (!stats.totals.assertions.allOk()) {
            write(":test-result: FAIL " + name);
        } else if (!skip_reason.empty()) {
            write(":test-result: SKIP " + name + " # " + one_line(skip_reason));
        } else {
            write(":test-result: PASS " + name);
        }
    }

private:
    static std::string one_line(std::string text)
    {
        for (char &c : text) {
            if (c == '\n' || c == '\r') {
                c = ' ';
            }
        }
        return text;
    }

    static void write(const std::string &line)
    {
        const char *path = std::getenv("UFX_TEST_RESULTS");
        std::FILE *file  = path != nullptr ? std::fopen(path, "ae") : nullptr;
        if (file != nullptr) {
            std::fprintf(file, "%s\n", line.c_str());
            std::fclose(file);
        }
    }
};

} // namespace

CATCH_REGISTER_LISTENER(result_listener)

void ufx::test::skip(const std::string &reason)
{
    skip_reason = reason;
    WARN("skipped: " << reason);
}
