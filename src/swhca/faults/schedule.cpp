// SPDX-License-Identifier: BSD-3-Clause
// Parsing rules word by word.
#include "schedule.h"

#include "ucs/config_parse.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <infiniband/verbs.h>
#include <span>

namespace ufx::swhca {

namespace {

enum class param_kind {
    NONE,
    NUMBER,
    OPTIONAL_NUMBER,
    DURATION,
    OPTIONAL_DURATION,
    RATE,
    SWITCH,
    EVENT,
    PAIR,
    GID,
};

struct action_word {
    std::string_view name;
    fault_action action;
    param_kind param;
};

constexpr action_word actions[] = {
    {"drop", fault_action::DROP, param_kind::NONE},
    {"delay", fault_action::DELAY, param_kind::DURATION},
    {"reorder", fault_action::REORDER, param_kind::OPTIONAL_DURATION},
    {"duplicate", fault_action::DUPLICATE, param_kind::NONE},
    {"corrupt", fault_action::CORRUPT, param_kind::NONE},
    {"hold", fault_action::HOLD, param_kind::NONE},
    {"stray-write", fault_action::STRAY_WRITE, param_kind::NONE},
    {"hold-cqe", fault_action::HOLD_CQE, param_kind::DURATION},
    {"duplicate-cqe", fault_action::DUPLICATE_CQE, param_kind::NONE},
    {"error-cqe", fault_action::ERROR_CQE, param_kind::NUMBER},
    {"swallow", fault_action::SWALLOW, param_kind::NONE},
    {"fail-open-device", fault_action::FAIL_OPEN_DEVICE, param_kind::NUMBER},
    {"fail-alloc-pd", fault_action::FAIL_ALLOC_PD, param_kind::NUMBER},
    {"fail-reg-mr", fault_action::FAIL_REG_MR, param_kind::NUMBER},
    {"fail-create-channel", fault_action::FAIL_CREATE_CHANNEL, param_kind::NUMBER},
    {"fail-create-cq", fault_action::FAIL_CREATE_CQ, param_kind::NUMBER},
    {"fail-create-srq", fault_action::FAIL_CREATE_SRQ, param_kind::NUMBER},
    {"fail-create-qp", fault_action::FAIL_CREATE_QP, param_kind::NUMBER},
    {"fail-create-ah", fault_action::FAIL_CREATE_AH, param_kind::NUMBER},
    {"fail-modify-qp", fault_action::FAIL_MODIFY_QP, param_kind::NUMBER},
    {"fail-query-qp", fault_action::FAIL_QUERY_QP, param_kind::NUMBER},
    {"stale-query-qp", fault_action::STALE_QUERY_QP, param_kind::NONE},
    {"reuse-qpn", fault_action::REUSE_QPN, param_kind::NONE},
    {"port-down", fault_action::PORT_DOWN, param_kind::NONE},
    {"port-up", fault_action::PORT_UP, param_kind::NONE},
    {"device-fatal", fault_action::DEVICE_FATAL, param_kind::NONE},
    {"event", fault_action::EVENT, param_kind::EVENT},
    {"rate", fault_action::SET_RATE, param_kind::RATE},
    {"latency", fault_action::SET_LATENCY, param_kind::DURATION},
    {"scatter-to-cqe", fault_action::SCATTER_TO_CQE, param_kind::SWITCH},
    {"lid", fault_action::SET_LID, param_kind::NUMBER},
    {"pkey", fault_action::SET_PKEY, param_kind::PAIR},
    {"gid", fault_action::SET_GID, param_kind::GID},
    {"clear-gid", fault_action::SET_GID, param_kind::NUMBER},
    {"qp-error", fault_action::QP_ERROR, param_kind::NONE},
    {"host-death", fault_action::HOST_DEATH, param_kind::NONE},
    {"stall-cq", fault_action::STALL_CQ, param_kind::OPTIONAL_NUMBER},
    {"unstall-cq", fault_action::UNSTALL_CQ, param_kind::OPTIONAL_NUMBER},
    {"release", fault_action::RELEASE, param_kind::NONE},
};

struct event_word {
    std::string_view name;
    ibv_event_type event;
};

constexpr event_word events[] = {
    {"CQ_ERR", IBV_EVENT_CQ_ERR},
    {"QP_FATAL", IBV_EVENT_QP_FATAL},
    {"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR},
    {"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR},
    {"COMM_EST", IBV_EVENT_COMM_EST},
    {"SQ_DRAINED", IBV_EVENT_SQ_DRAINED},
    {"PATH_MIG", IBV_EVENT_PATH_MIG},
    {"PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR},
    {"DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL},
    {"PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE},
    {"PORT_ERR", IBV_EVENT_PORT_ERR},
    {"LID_CHANGE", IBV_EVENT_LID_CHANGE},
    {"PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE},
    {"SM_CHANGE", IBV_EVENT_SM_CHANGE},
    {"SRQ_ERR", IBV_EVENT_SRQ_ERR},
    {"SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED},
    {"QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED},
    {"CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER},
    {"GID_CHANGE", IBV_EVENT_GID_CHANGE},
};

constexpr std::array<std::string_view, 7> states = {"RESET", "INIT", "RTR", "RTS",
                                                    "SQD",   "SQE",  "ERR"};

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

// What comes behind a word; complains if it is missing or wrong.
class word_reader {
public:
    word_reader(std::span<const std::string_view> words, std::string &why)
        : words_(words), why_(why)
    {
    }

    [[nodiscard]] bool more() const noexcept { return at_ < words_.size(); }

    std::string_view next() noexcept { return words_[at_++]; }

    template <class Parse>
    bool value(std::string_view of, Parse parse, uint64_t &out)
    {
        if (!more()) {
            why_ = "'" + std::string(of) + "' needs a value";
            return false;
        }
        std::string_view text = next();
        if (!parse(text, out)) {
            why_ = "'" + std::string(text) + "' is no value for '" + std::string(of) + "'";
            return false;
        }
        return true;
    }

    // Leaves the word if it does not parse.
    template <class Parse>
    void optional(Parse parse, uint64_t &out)
    {
        if (more() && parse(words_[at_], out)) {
            at_++;
        }
    }

private:
    std::span<const std::string_view> words_;
    std::string &why_;
    size_t at_ = 0;
};

bool parse_event(std::string_view text, uint64_t &out) noexcept
{
    for (const event_word &each : events) {
        if (each.name == text) {
            out = each.event;
            return true;
        }
    }
    return false;
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

bool parse_state(std::string_view text, uint64_t &out) noexcept
{
    const auto *found = std::find(states.begin(), states.end(), text);
    out = static_cast<uint64_t>(found - states.begin());
    return found != states.end();
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
    constexpr uint64_t most = 127;
    return parse_number(text, out) && out <= most;
}

bool read_param(word_reader &in, const action_word &word, fault_rule &out)
{
    switch (word.param) {
    case param_kind::NUMBER:
        return in.value(word.name, parse_number, out.param);
    case param_kind::OPTIONAL_NUMBER:
        in.optional(parse_number, out.param);
        return true;
    case param_kind::DURATION:
        return in.value(word.name, parse_duration, out.param);
    case param_kind::OPTIONAL_DURATION:
        in.optional(parse_duration, out.param);
        return true;
    case param_kind::RATE:
        return in.value(word.name, parse_rate, out.param);
    case param_kind::SWITCH:
        return in.value(word.name, parse_switch, out.param);
    case param_kind::EVENT:
        return in.value(word.name, parse_event, out.param);
    case param_kind::PAIR: {
        uint64_t index = 0;
        uint64_t value = 0;
        if (!in.value(word.name, parse_number, index) ||
            !in.value(word.name, parse_number, value)) {
            return false;
        }
        out.param = index << 16 | (value & 0xffff);
        return true;
    }
    case param_kind::GID: {
        auto address = [&out](std::string_view text, uint64_t &) {
            return parse_address(text, out.address);
        };
        uint64_t none = 0;
        return in.value(word.name, parse_number, out.param) && in.value(word.name, address, none);
    }
    default:
        return true;
    }
}

bool read_option(word_reader &in, std::string_view word, fault_rule &out, std::string &why)
{
    uint64_t value = 0;
    if (word == "at") {
        return in.value(word, parse_duration, out.from_ns);
    }
    if (word == "until") {
        return in.value(word, parse_duration, out.until_ns);
    }
    if (word == "every") {
        return in.value(word, parse_duration, out.every_ns);
    }
    if (word == "to") {
        bool good = in.value(word, parse_state, value);
        out.state = static_cast<int8_t>(value);
        return good;
    }
    if (word == "requests" || word == "responses") {
        out.target = word == "requests" ? fault_target::REQUESTS : fault_target::RESPONSES;
        return true;
    }
    if (word == "silent") {
        out.silent = true;
        return true;
    }
    if (word == "hca") {
        bool good = in.value(word, parse_hca, value);
        out.hca = static_cast<int8_t>(value);
        return good;
    }
    if (word == "probability") {
        bool good = in.value(word, parse_probability, value);
        out.probability = static_cast<uint32_t>(value);
        return good;
    }
    if (word == "qpn" || word == "skip" || word == "count") {
        bool good = in.value(word, parse_number, value);
        (word == "qpn"    ? out.qpn
         : word == "skip" ? out.skip
                          : out.count) = static_cast<uint32_t>(value);
        return good;
    }
    why = "'" + std::string(word) + "' is no word of a rule";
    return false;
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
    fault_rule rule{};
    rule.hca = -1;
    rule.state = any_state;
    rule.probability = UINT32_MAX;
    while (in.more()) {
        std::string_view word = in.next();
        const auto *action =
            std::find_if(std::begin(actions), std::end(actions),
                         [&](const action_word &each) { return each.name == word; });
        if (action == std::end(actions)) {
            if (!read_option(in, word, rule, why)) {
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

bool parse_schedule(std::string_view text, std::vector<fault_rule> &out, std::string &why)
{
    size_t number = 1;
    while (!text.empty()) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        fault_rule rule{};
        if (!split(line).empty()) {
            if (!parse_rule(line, rule, why)) {
                why = "line " + std::to_string(number) + ": " + why;
                return false;
            }
            out.push_back(rule);
        }
        text.remove_prefix(std::min(end + 1, text.size()));
        number++;
    }
    return true;
}

std::string_view action_name(fault_action action) noexcept
{
    for (const action_word &each : actions) {
        if (each.action == action) {
            return each.name;
        }
    }
    return "none";
}

} // namespace ufx::swhca
