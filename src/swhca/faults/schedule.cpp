// SPDX-License-Identifier: BSD-3-Clause
// Parsing rules word by word.
#include "schedule.h"

#include "vocabulary.h"

#include "ucs/config_parse.h"

#include <algorithm>
#include <arpa/inet.h>
#include <span>

namespace ufx::swhca {

namespace {

std::vector<std::string_view> split(std::string_view line)
{
    std::vector<std::string_view> words;
    line = line.substr(0, line.find('#'));
    constexpr std::string_view space = " \t\r\n";
    for (size_t at = line.find_first_not_of(space); at != line.npos;) {
        size_t end = std::min(line.find_first_of(space, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(space, end);
    }
    return words;
}

template <auto Parse>
bool parse_positive(std::string_view text, uint64_t &out) noexcept
{
    int64_t value = 0;
    if (!Parse(text, value) || value < 0 || value == INT64_MAX) { // not "inf" either
        return false;
    }
    out = static_cast<uint64_t>(value);
    return true;
}

constexpr auto parse_number = parse_positive<ucs::parse_integer>;
constexpr auto parse_duration = parse_positive<ucs::parse_time>;
constexpr auto parse_rate = parse_positive<ucs::parse_rate>;

std::string takes(number_range range)
{
    return std::to_string(range.least) + " to " + std::to_string(range.most);
}

// What comes behind a word; complains if it is missing or wrong.
class word_reader {
public:
    word_reader(std::span<const std::string_view> words, std::string &why)
        : words_(words), why_(why)
    {
    }

    [[nodiscard]] bool more() const noexcept { return at_ < words_.size(); }

    std::string_view next() noexcept { return words_[at_++]; }

    // `what` is what the word takes.
    template <class Parse>
    bool value(std::string_view of, const std::string &what, Parse parse, uint64_t &out)
    {
        if (!more()) {
            why_ = "'" + std::string(of) + "' needs a value: it takes " + what;
            return false;
        }
        std::string_view text = next();
        if (!parse(text, out)) {
            why_ = "'" + std::string(text) + "' is no value for '" + std::string(of) +
                   "': it takes " + what;
            return false;
        }
        return true;
    }

    bool number(std::string_view of, number_range range, uint64_t &out)
    {
        return value(
            of, takes(range),
            [range](std::string_view text, uint64_t &to) {
                return parse_number(text, to) && to >= range.least && to <= range.most;
            },
            out);
    }

    // A word that looks like no value belongs to the rest of the rule.
    bool optional_number(std::string_view of, number_range range, uint64_t &out)
    {
        uint64_t ignored = 0;
        return !more() || !parse_number(words_[at_], ignored) || number(of, range, out);
    }

    void optional_duration(uint64_t &out)
    {
        if (more() && parse_duration(words_[at_], out)) {
            at_++;
        }
    }

private:
    std::span<const std::string_view> words_;
    std::string &why_;
    size_t at_ = 0;
};

bool parse_word(std::span<const named_value> words, std::string_view text, uint64_t &out) noexcept
{
    auto one = std::find_if(words.begin(), words.end(),
                            [text](const named_value &each) { return each.name == text; });
    if (one == words.end()) {
        return false;
    }
    out = one->value;
    return true;
}

bool parse_event(std::string_view text, uint64_t &out) noexcept
{
    return parse_word(event_words(), text, out);
}

bool parse_state(std::string_view text, uint64_t &out) noexcept
{
    return parse_word(state_words(), text, out);
}

bool parse_errno(std::string_view text, uint64_t &out) noexcept
{
    return errno_of(text, out) ||
           (parse_number(text, out) && out >= errno_range.least && out <= errno_range.most);
}

bool parse_syndrome(std::string_view text, uint64_t &out) noexcept
{
    return parse_word(syndrome_words(), text, out) ||
           (parse_number(text, out) && out > 0 && out <= UINT8_MAX);
}

bool parse_probability(std::string_view text, uint64_t &out) noexcept
{
    double value = 0;
    if (!ucs::parse_real(text, value) || value < 0 || value > 1) {
        return false;
    }
    out = static_cast<uint64_t>(value * UINT32_MAX);
    return true;
}

bool parse_switch(std::string_view text, uint64_t &out) noexcept
{
    bool on = false;
    bool good = ucs::parse_bool(text, on);
    out = on ? 1 : 0;
    return good;
}

// An IPv6 address, or an IPv4 address as RoCE v2 has it in a GID.
bool parse_address(std::string_view text, gid &out)
{
    std::string word(text);
    out = {};
    if (::inet_pton(AF_INET6, word.c_str(), out.raw) == 1) {
        return true;
    }
    out.raw[10] = out.raw[11] = 0xff;
    return ::inet_pton(AF_INET, word.c_str(), out.raw + 12) == 1;
}

bool parse_hca(std::string_view text, uint64_t &out) noexcept
{
    constexpr std::string_view prefix = "mlx5_";
    if (text.starts_with(prefix)) {
        text.remove_prefix(prefix.size());
    }
    return parse_number(text, out) && out <= hca_range().most;
}

constexpr const char *a_duration = "a time such as 5us, 10ms or 2s";

bool read_index_and_number(word_reader &in, const action_word &word, fault_rule &out)
{
    constexpr number_range value_range = {0, UINT16_MAX};
    uint64_t index = 0;
    uint64_t value = 0;
    if (!in.number(word.name, word.range, index) || !in.number(word.name, value_range, value)) {
        return false;
    }
    out.param = index << 16 | value;
    return true;
}

bool read_index_and_address(word_reader &in, const action_word &word, fault_rule &out)
{
    auto address = [&out](std::string_view text, uint64_t &) {
        return parse_address(text, out.address);
    };
    uint64_t none = 0;
    return in.number(word.name, word.range, out.param) &&
           in.value(word.name, "an IPv6 or IPv4 address", address, none);
}

bool read_param(word_reader &in, const action_word &word, fault_rule &out)
{
    switch (word.param) {
    case param_kind::NUMBER:
        return in.number(word.name, word.range, out.param);
    case param_kind::OPTIONAL_NUMBER:
        return in.optional_number(word.name, word.range, out.param);
    case param_kind::ERRNO:
        return in.value(word.name, takes(word.range) + " or a name such as ENOMEM", parse_errno,
                        out.param);
    case param_kind::SYNDROME:
        return in.value(word.name, takes(word.range) + " or a name such as RETRY_EXC_ERR",
                        parse_syndrome, out.param);
    case param_kind::DURATION:
        return in.value(word.name, a_duration, parse_duration, out.param);
    case param_kind::OPTIONAL_DURATION:
        in.optional_duration(out.param);
        return true;
    case param_kind::RATE:
        return in.value(word.name, "a rate such as 10Gb/s", parse_rate, out.param);
    case param_kind::SWITCH:
        return in.value(word.name, "on or off", parse_switch, out.param);
    case param_kind::EVENT:
        return in.value(word.name, "a name such as PORT_ERR", parse_event, out.param);
    case param_kind::INDEX_AND_NUMBER:
        return read_index_and_number(in, word, out);
    case param_kind::INDEX_AND_ADDRESS:
        return read_index_and_address(in, word, out);
    default:
        return true;
    }
}

// The words of a rule that are followed by a number or a time.
bool read_option(word_reader &in, std::string_view word, fault_rule &out, std::string &why)
{
    uint64_t value = 0;
    bool good = false;
    if (word == "at") {
        return in.value(word, a_duration, parse_duration, out.from_ns);
    }
    if (word == "until" || word == "every") {
        auto positive = [](std::string_view text, uint64_t &to) {
            return parse_duration(text, to) && to > 0;
        };
        return in.value(word, a_duration, positive, word == "until" ? out.until_ns : out.every_ns);
    }
    if (word == "to") {
        good = in.value(word, "a state such as RTS or ERR", parse_state, value);
        out.state = static_cast<int8_t>(value);
    } else if (word == "hca") {
        good = in.value(word, takes(hca_range()), parse_hca, value);
        out.hca = static_cast<int8_t>(value);
    } else if (word == "probability") {
        good = in.value(word, "0 to 1", parse_probability, value);
        out.probability = static_cast<uint32_t>(value);
    } else if (word == "qpn") {
        good = in.number(word, qpn_range, value);
        out.qpn = static_cast<uint32_t>(value);
    } else if (word == "skip" || word == "count") {
        good = in.number(word, {word == "skip" ? 0u : 1u, UINT32_MAX}, value);
        (word == "skip" ? out.skip : out.count) = static_cast<uint32_t>(value);
    } else {
        why = "'" + std::string(word) + "' is no word of a rule";
    }
    return good;
}

bool read_mark(std::string_view word, fault_rule &out) noexcept
{
    if (word == "requests" || word == "responses") {
        out.target = word == "requests" ? fault_target::REQUESTS : fault_target::RESPONSES;
        return true;
    }
    out.silent = out.silent || word == "silent";
    return word == "silent";
}

bool fits_together(const fault_rule &rule, std::string &why)
{
    std::string name(action_name(rule.action));
    if (rule.action == fault_action::NONE) {
        why = "a rule needs an action, such as 'drop'";
    } else if (rule.every_ns > 0 && !is_timed(rule.action)) {
        why = "'every' is for what happens at a time, and '" + name + "' does not";
    } else if (rule.state != any_state && rule.action != fault_action::FAIL_MODIFY_QP) {
        why = "'to' is for fail-modify-qp, not for '" + name + "'";
    } else if (rule.until_ns != 0 && rule.until_ns <= rule.from_ns) {
        why = "the rule is over before it begins";
    } else {
        return true;
    }
    return false;
}

} // namespace

bool parse_rule(std::string_view line, fault_rule &out, std::string &why)
{
    std::vector<std::string_view> words = split(line);
    word_reader in(words, why);
    std::span<const action_word> actions = action_words();
    fault_rule rule{};
    rule.hca = -1;
    rule.state = any_state;
    rule.probability = UINT32_MAX;
    while (in.more()) {
        std::string_view word = in.next();
        auto action = std::find_if(actions.begin(), actions.end(),
                                   [&](const action_word &each) { return each.name == word; });
        if (action == actions.end()) {
            if (!read_mark(word, rule) && !read_option(in, word, rule, why)) {
                return false;
            }
            continue;
        }
        if (rule.action != fault_action::NONE) {
            why = "a rule has one action, not '" + std::string(action_name(rule.action)) +
                  "' and '" + std::string(word) + "'";
            return false;
        }
        rule.action = action->action;
        if (!read_param(in, *action, rule)) {
            return false;
        }
    }
    if (!fits_together(rule, why)) {
        return false;
    }
    out = rule;
    return true;
}

bool parse_schedule(std::string_view text, std::vector<scheduled_rule> &out, std::string &why)
{
    for (size_t number = 1; !text.empty(); number++) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        scheduled_rule one{number, {}};
        if (!split(line).empty()) {
            if (!parse_rule(line, one.rule, why)) {
                why = std::to_string(number) + ": " + why;
                return false;
            }
            out.push_back(one);
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return true;
}

std::string_view action_name(fault_action action) noexcept
{
    std::span<const action_word> actions = action_words();
    auto one = std::find_if(actions.begin(), actions.end(),
                            [action](const action_word &each) { return each.action == action; });
    return one == actions.end() ? "none" : one->name;
}

} // namespace ufx::swhca
