// SPDX-License-Identifier: BSD-3-Clause
// Parsing numbers with units; std::from_chars does not know locales.
#include "units.h"

#include <charconv>
#include <span>

namespace ufx::swhca {

namespace {

struct unit {
    std::string_view name;
    double factor;
};

bool parse_with_unit(std::string_view text, std::span<const unit> units, uint64_t &out) noexcept
{
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) {
        return false;
    }
    std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
    for (const unit &each : units) {
        double value = number * each.factor;
        constexpr double limit = 1e18;
        if (rest == each.name && value <= limit) {
            out = static_cast<uint64_t>(value + 0.5);
            return true;
        }
    }
    return false;
}

} // namespace

bool parse_duration(std::string_view text, uint64_t &ns) noexcept
{
    constexpr unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    return parse_with_unit(text, units, ns);
}

bool parse_rate(std::string_view text, uint64_t &bits_per_s) noexcept
{
    constexpr unit units[] = {{"b/s", 1},   {"kb/s", 1e3},   {"Mb/s", 1e6},   {"Gb/s", 1e9},
                              {"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
    return parse_with_unit(text, units, bits_per_s);
}

bool parse_number(std::string_view text, uint64_t &value) noexcept
{
    int base = 10;
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
        base = 16;
    }
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

} // namespace ufx::swhca
