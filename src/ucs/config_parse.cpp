// SPDX-License-Identifier: BSD-3-Clause
// Parsing of numbers, sizes, times, booleans and lists.
#include "config_parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ufx::ucs {
namespace {

struct unit {
    std::string_view name;
    int64_t factor;
};

constexpr unit size_units[] = {{"", 1},        {"b", 1},        {"k", 1 << 10}, {"kb", 1 << 10},
                               {"m", 1 << 20}, {"mb", 1 << 20}, {"g", 1 << 30}, {"gb", 1 << 30}};
constexpr unit time_units[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}};
constexpr unit rate_units[] = {{"b/s", 1},           {"kb/s", 1000},        {"Mb/s", 1000000},
                               {"Gb/s", 1000000000}, {"bit/s", 1},          {"kbit/s", 1000},
                               {"Mbit/s", 1000000},  {"Gbit/s", 1000000000}};

char lower(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view a, std::string_view b) noexcept
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

template <size_t N>
const unit *find_unit(const unit (&units)[N], std::string_view name) noexcept
{
    for (const unit &one : units) {
        if (same_word(one.name, name)) {
            return &one;
        }
    }
    return nullptr;
}

bool is_digit(char c) noexcept
{
    return c >= '0' && c <= '9';
}

// A decimal number, also with a fraction, and what stands behind it.
bool split_number(std::string_view text, double &number, std::string_view &rest) noexcept
{
    if (text.empty() || !is_digit(text.front())) {
        return false;
    }
    auto [stopped, fault] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    rest = trim(text.substr(static_cast<size_t>(stopped - text.data())));
    return fault == std::errc();
}

bool scale_to(double number, int64_t factor, int64_t &out) noexcept
{
    double value = number * static_cast<double>(factor);
    if (value >= 0x1p63) { // the first double that is too large
        return false;
    }
    out = static_cast<int64_t>(std::llround(value));
    return true;
}

template <size_t N>
std::string format_units(const unit (&units)[N], int64_t value, std::string_view plain)
{
    if (value == INT64_MAX) {
        return "inf";
    }
    const unit *best = nullptr;
    for (const unit &one : units) {
        if (one.factor > 1 && value != 0 && value % one.factor == 0) {
            best = &one;
        }
    }
    if (best == nullptr) {
        return std::to_string(value) + std::string(value == 0 ? "" : plain);
    }
    return std::to_string(value / best->factor) + std::string(best->name);
}

} // namespace

std::string_view trim(std::string_view text) noexcept
{
    constexpr std::string_view blanks = " \t\r";
    size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool parse_integer(std::string_view text, int64_t &value) noexcept
{
    text = trim(text);
    bool negative = !text.empty() && text.front() == '-';
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
        text.remove_prefix(1);
    }
    int base = 10;
    if (text.size() > 2 && text[0] == '0' && lower(text[1]) == 'x') {
        base = 16;
        text.remove_prefix(2);
    }
    uint64_t size = 0;
    auto [stopped, fault] = std::from_chars(text.data(), text.data() + text.size(), size, base);
    if (fault != std::errc() || stopped != text.data() + text.size() || size > INT64_MAX) {
        return false;
    }
    value = negative ? -static_cast<int64_t>(size) : static_cast<int64_t>(size);
    return true;
}

bool parse_size(std::string_view text, int64_t &bytes) noexcept
{
    text = trim(text);
    if (same_word(text, "inf")) {
        bytes = INT64_MAX;
        return true;
    }
    int64_t number = 0;
    auto [stopped, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || number < 0) {
        return false;
    }
    size_t digits = static_cast<size_t>(stopped - text.data());
    const unit *scale = find_unit(size_units, trim(text.substr(digits)));
    int64_t scaled = 0;
    if (scale == nullptr || __builtin_mul_overflow(number, scale->factor, &scaled)) {
        return false;
    }
    bytes = scaled;
    return true;
}

bool parse_time(std::string_view text, int64_t &ns) noexcept
{
    text = trim(text);
    if (same_word(text, "inf")) {
        ns = INT64_MAX;
        return true;
    }
    if (text == "0") {
        ns = 0;
        return true;
    }
    std::string_view name;
    double number = 0;
    const unit *scale = split_number(text, number, name) ? find_unit(time_units, name) : nullptr;
    return scale != nullptr && scale_to(number, scale->factor, ns);
}

bool parse_rate(std::string_view text, int64_t &bits_per_s) noexcept
{
    std::string_view name;
    double number = 0;
    if (!split_number(trim(text), number, name)) {
        return false;
    }
    for (const unit &one : rate_units) {
        if (one.name == name) {
            return scale_to(number, one.factor, bits_per_s);
        }
    }
    return false;
}

bool parse_bool(std::string_view text, bool &value) noexcept
{
    constexpr std::string_view yes[] = {"y", "yes", "on", "true", "1"};
    constexpr std::string_view no[] = {"n", "no", "off", "false", "0"};
    text = trim(text);
    auto is = [text](std::string_view word) { return same_word(word, text); };
    if (std::any_of(std::begin(yes), std::end(yes), is)) {
        value = true;
        return true;
    }
    if (std::any_of(std::begin(no), std::end(no), is)) {
        value = false;
        return true;
    }
    return false;
}

bool parse_real(std::string_view text, double &value) noexcept
{
    text = trim(text);
    double number = 0;
    auto [stopped, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || stopped != text.data() + text.size() || !std::isfinite(number)) {
        return false;
    }
    value = number;
    return true;
}

std::vector<std::string> parse_list(std::string_view text)
{
    std::vector<std::string> parts;
    while (!text.empty()) {
        size_t comma = text.find(',');
        std::string_view part = trim(text.substr(0, comma));
        if (!part.empty()) {
            parts.emplace_back(part);
        }
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return parts;
}

std::string format_size(int64_t bytes)
{
    return format_units(size_units, bytes, "");
}

std::string format_time(int64_t ns)
{
    return format_units(time_units, ns, "ns");
}

size_t edit_distance(std::string_view a, std::string_view b)
{
    // Rows of the table for a[..i-2], a[..i-1], a[..i].
    std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= a.size(); i++) {
        now[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            now[j] = std::min({replace, last[j] + 1, now[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = std::min(now[j], before[j - 2] + 1);
            }
        }
        before.swap(last);
        last.swap(now);
    }
    return last[b.size()];
}

} // namespace ufx::ucs
