// SPDX-License-Identifier: BSD-3-Clause
// Rules back into words, in the order in which docs/swhca.md has them.
#include "schedule.h"

#include "vocabulary.h"

#include "ucs/config_parse.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>

namespace ufx::swhca {

namespace {

constexpr uint64_t ns_per_ms = 1000000;

std::string time_text(uint64_t ns)
{
    return ucs::format_time(static_cast<int64_t>(ns));
}

std::string rounded_time_text(uint64_t ns)
{
    return time_text((ns + ns_per_ms / 2) / ns_per_ms * ns_per_ms);
}

std::string rate_text(uint64_t bits_per_s)
{
    constexpr struct {
        uint64_t factor;
        const char *unit;
    } units[] = {{1000000000, "Gb/s"}, {1000000, "Mb/s"}, {1000, "kb/s"}};
    for (const auto &each : units) {
        if (bits_per_s != 0 && bits_per_s % each.factor == 0) {
            return std::to_string(bits_per_s / each.factor) + each.unit;
        }
    }
    return std::to_string(bits_per_s) + "b/s";
}

std::string named(std::span<const named_value> words, uint64_t value)
{
    std::string_view name = name_of(words, value);
    return name.empty() ? std::to_string(value) : std::string(name);
}

std::string errno_text(uint64_t value)
{
    const char *name = ::strerrorname_np(static_cast<int>(value));
    return name == nullptr ? std::to_string(value) : name;
}

std::string address_text(const gid &one)
{
    std::array<char, INET6_ADDRSTRLEN> room{};
    (void)::inet_ntop(AF_INET6, one.raw, room.data(), room.size());
    return room.data();
}

std::string param_text(const action_word &word, const fault_rule &rule)
{
    switch (word.param) {
    case param_kind::NUMBER:
        return std::to_string(rule.param);
    case param_kind::OPTIONAL_NUMBER:
        return rule.param == 0 ? "" : std::to_string(rule.param);
    case param_kind::ERRNO:
        return errno_text(rule.param);
    case param_kind::SYNDROME:
        return named(syndrome_words(), rule.param);
    case param_kind::DURATION:
        return time_text(rule.param);
    case param_kind::OPTIONAL_DURATION:
        return rule.param == 0 ? "" : time_text(rule.param);
    case param_kind::RATE:
        return rate_text(rule.param);
    case param_kind::SWITCH:
        return rule.param == 0 ? "off" : "on";
    case param_kind::EVENT:
        return named(event_words(), rule.param);
    case param_kind::INDEX_AND_NUMBER:
        return std::to_string(rule.param >> 16) + " " + std::to_string(rule.param & UINT16_MAX);
    case param_kind::INDEX_AND_ADDRESS:
        return std::to_string(rule.param) + " " + address_text(rule.address);
    default:
        return "";
    }
}

// Of the two words that set a GID, one clears it.
const action_word &word_of(const fault_rule &rule)
{
    std::span<const action_word> actions = action_words();
    bool clears = rule.action == fault_action::SET_GID && rule.address == gid{};
    return *std::find_if(actions.begin(), actions.end(), [&](const action_word &each) {
        return each.action == rule.action && clears == (each.name == "clear-gid");
    });
}

class phrase {
public:
    void add(std::string_view word, const std::string &value = "")
    {
        for (std::string_view each : {word, std::string_view(value)}) {
            if (!each.empty()) {
                text_ += (text_.empty() ? "" : " ") + std::string(each);
            }
        }
    }

    void add_unless(bool absent, std::string_view word, const std::string &value = "")
    {
        if (!absent) {
            add(word, value);
        }
    }

    [[nodiscard]] const std::string &text() const noexcept { return text_; }

private:
    std::string text_;
};

std::string probability_text(uint32_t probability)
{
    std::array<char, 32> room{};
    std::snprintf(room.data(), room.size(), "%.6g", probability / double{UINT32_MAX});
    return room.data();
}

} // namespace

std::string rule_text(const fault_rule &rule)
{
    if (rule.action == fault_action::NONE) {
        return "none";
    }
    const action_word &word = word_of(rule);
    phrase out;
    out.add_unless(rule.from_ns == 0, "at", rounded_time_text(rule.from_ns));
    out.add_unless(rule.every_ns == 0, "every", time_text(rule.every_ns));
    out.add_unless(rule.until_ns == 0, "until", rounded_time_text(rule.until_ns));
    out.add_unless(rule.hca < 0, "hca", "mlx5_" + std::to_string(rule.hca));
    out.add_unless(rule.qpn == 0, "qpn", std::to_string(rule.qpn));
    out.add(word.name, param_text(word, rule));
    out.add_unless(rule.state == any_state, "to",
                   named(state_words(), static_cast<uint64_t>(rule.state)));
    out.add_unless(rule.target == fault_target::ANY,
                   rule.target == fault_target::REQUESTS ? "requests" : "responses");
    out.add_unless(rule.skip == 0, "skip", std::to_string(rule.skip));
    out.add_unless(rule.count == 0, "count", std::to_string(rule.count));
    out.add_unless(rule.probability == UINT32_MAX, "probability",
                   probability_text(rule.probability));
    out.add_unless(!rule.silent, "silent");
    return out.text();
}

} // namespace ufx::swhca
