// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units.
#include "tools/common/units.h"

#include "tools/common/error.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <ctime>

namespace ufx::tools {

namespace {

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
