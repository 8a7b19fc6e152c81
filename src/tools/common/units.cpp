// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units.
#include "tools/common/units.h"

#include "tools/common/error.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace ufx::tools {

namespace {

constexpr double TC_RATE_MAX = 1e12; // the burst of a faster one has no room in tc's limit

int shift_of(std::string unit)
{
    for (char &c : unit) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    for (const char *tail : {"ib", "b"}) {
        const std::string suffix = tail;
        if (unit.size() >= suffix.size() &&
            unit.compare(unit.size() - suffix.size(), suffix.size(), suffix) == 0) {
            unit.erase(unit.size() - suffix.size());
            break;
        }
    }
    if (unit.empty()) {
        return 0;
    }
    const std::string letters = "kmgt";
    const size_t at = unit.size() == 1 ? letters.find(unit[0]) : std::string::npos;
    return at == std::string::npos ? -1 : 10 * static_cast<int>(at + 1);
}

/** Factor of a rate's unit, to bits; 0 if it is none. */
double tc_factor(std::string unit)
{
    for (char &c : unit) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const size_t length = unit.size();
    const std::string tail = length < 3 ? "" : unit.substr(length - 3);
    const double bits = tail == "bit" ? 1 : tail == "bps" ? 8 : 0;
    const std::string prefix = bits == 0 ? "?" : unit.substr(0, length - 3);
    if (prefix.empty()) {
        return bits;
    }
    const std::string letters = "kmgt";
    const size_t power = letters.find(prefix[0]) + 1; // 0 if it is not there
    const bool binary = prefix.size() == 2 && prefix[1] == 'i';
    if (power == 0 || (prefix.size() != 1 && !binary)) {
        return 0;
    }
    return bits * std::pow(binary ? 1024 : 1000, power);
}

} // namespace

uint64_t parse_size(const std::string &text, const std::string &what)
{
    uint64_t value = 0;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const int shift = error == std::errc() ? shift_of(std::string(rest, end)) : -1;
    if (shift < 0) {
        throw usage_error(what + ": '" + text + "' is no size (write 4096, 64k, 1M or 2G)");
    }
    if (value > (UINT64_MAX >> shift)) {
        throw usage_error(what + ": '" + text + "' is too large");
    }
    return value << shift;
}

uint64_t parse_number(const std::string &text, const std::string &what, const number_range &allowed)
{
    uint64_t value = 0;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || value < allowed.least || value > allowed.most) {
        const std::string least = std::to_string(allowed.least);
        throw usage_error(what + ": '" + text + "' is no number " +
                          (allowed.most == UINT64_MAX
                               ? "of at least " + least
                               : "from " + least + " to " + std::to_string(allowed.most)));
    }
    return value;
}

double parse_seconds(const std::string &text, const std::string &what, double most)
{
    double value = 0;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || !(value > 0 && value <= most)) {
        char limit[32];
        std::snprintf(limit, sizeof(limit), "%.0f", most);
        throw usage_error(what + ": '" + text + "' is no number of seconds above 0, at most " +
                          limit + " (write 5 or 2.5)");
    }
    return value;
}

uint64_t parse_tc_rate(const std::string &text, const std::string &what)
{
    double value = 0;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const double factor = error == std::errc() ? tc_factor(std::string(rest, end)) : 0;
    const double rate = value * factor;
    if (!(rate >= 1)) {
        throw usage_error(what + ": '" + text +
                          "' is no rate (write 500kbit, 100mbit, 1gbit or 125mbps, or none)");
    }
    if (rate > TC_RATE_MAX) {
        throw usage_error(what + ": '" + text + "' is too fast, at most 1tbit");
    }
    return static_cast<uint64_t>(rate);
}

std::string show_size(double bytes)
{
    const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    char text[48];
    std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

uint64_t now_ns()
{
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace ufx::tools
