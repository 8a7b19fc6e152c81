// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the configuration file, and the values in it. What parses is also printed and
// parsed again, which must give the same.
#include "ucs/config_file.h"
#include "ucs/config_parse.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace ufx;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

void check_values(std::string_view text)
{
    int64_t number = -1;
    int64_t again = -1;
    if (ucs::parse_size(text, number)) {
        expect(number >= 0 && ucs::parse_size(ucs::format_size(number), again) && again == number);
    }
    if (ucs::parse_time(text, number)) {
        expect(number >= 0 && ucs::parse_time(ucs::format_time(number), again) && again == number);
    }
    if (ucs::parse_integer(text, number)) {
        expect(ucs::parse_integer(std::to_string(number), again) && again == number);
    }
    bool flag = false;
    double real = 0;
    static_cast<void>(ucs::parse_bool(text, flag));
    static_cast<void>(ucs::parse_real(text, real));
    for (const std::string &part : ucs::parse_list(text)) {
        expect(!part.empty() && part == ucs::trim(part));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string_view text(reinterpret_cast<const char *>(data), size);
    ucs::config_file file = ucs::parse_config_file(text);
    std::string printed;
    for (const auto &[name, value] : file.values) {
        check_values(value);
        printed += name + "=" + value + "\n";
    }
    ucs::config_file again = ucs::parse_config_file(printed);
    expect(again.faults.empty() && again.values == file.values);
    return 0;
}
