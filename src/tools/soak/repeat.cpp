// SPDX-License-Identifier: BSD-3-Clause
// Settings of the environment, the launcher, and the words that were given.
#include "tools/soak/repeat.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace ufx::tools::soak {

namespace {

std::string quoted(std::string_view word)
{
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-+=:,./%@";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
        return std::string(word);
    }
    std::string text = "'";
    for (const char each : word) {
        text += each == '\'' ? "'\\''" : std::string(1, each);
    }
    return text + "'";
}

/** What the launcher and --lockstep set themselves is left out. */
std::string settings()
{
    std::string text;
    for (char **each = environ; *each != nullptr; ++each) {
        const std::string_view setting = *each;
        if (setting.starts_with("UFX_") && !setting.starts_with("UFX_SWHCA_") &&
            !setting.starts_with("UFX_IB_EVENT_THREAD=")) {
            const std::size_t value = setting.find('=') + 1; // a name in quotes would be a command's
            text += std::string(setting.substr(0, value)) + quoted(setting.substr(value)) + " ";
        }
    }
    return text;
}

} // namespace

std::string repeat_command(int argc, char **argv, uint64_t seed)
{
    const char *launcher = std::getenv("UFX_SWHCA_RUN");
    std::string text = settings() + (launcher != nullptr ? launcher : "") + "ufx_perftest";
    bool has_seed = false;
    for (int i = 0; i < argc; ++i) {
        text += " " + quoted(argv[i]);
        has_seed = has_seed || std::string_view(argv[i]).starts_with("--seed");
    }
    return has_seed ? text : text + " --seed " + std::to_string(seed);
}

} // namespace ufx::tools::soak
