// SPDX-License-Identifier: BSD-3-Clause
// Parsers of the text of configuration values; outputs are written only on success.
#ifndef UFX_UCS_CONFIG_PARSE_H
#define UFX_UCS_CONFIG_PARSE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ufx::ucs {

// Decimal, or hexadecimal after 0x; an optional sign.
[[nodiscard]] bool parse_integer(std::string_view text, int64_t &value) noexcept;

// Bytes: a decimal number and one of b, k, kb, m, mb, g, gb (powers of 1024, any case), or
// "inf", which is INT64_MAX.
[[nodiscard]] bool parse_size(std::string_view text, int64_t &bytes) noexcept;

// A decimal number, also with a fraction, and one of ns, us, ms, s, m (minutes); "0"; or "inf",
// which is INT64_MAX. A number without a unit is refused, since nobody knows what it means.
[[nodiscard]] bool parse_time(std::string_view text, int64_t &ns) noexcept;

// Bits a second: a decimal number, also with a fraction, and b/s, kb/s, Mb/s, Gb/s, or the same
// with "bit/s"; powers of 1000. Case counts, since B would be bytes.
[[nodiscard]] bool parse_rate(std::string_view text, int64_t &bits_per_s) noexcept;

// y, yes, on, true, 1 or n, no, off, false, 0; any case.
[[nodiscard]] bool parse_bool(std::string_view text, bool &value) noexcept;

// A finite number.
[[nodiscard]] bool parse_real(std::string_view text, double &value) noexcept;

// Parts between commas, without surrounding blanks; empty parts are left out.
[[nodiscard]] std::vector<std::string> parse_list(std::string_view text);

// `text` without surrounding blanks and tabs.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;

// Shortest text that parse_size() or parse_time() reads back as the same value.
[[nodiscard]] std::string format_size(int64_t bytes);
[[nodiscard]] std::string format_time(int64_t ns);

// Insertions, deletions, replacements and swaps of neighbours that make `a` into `b`.
[[nodiscard]] size_t edit_distance(std::string_view a, std::string_view b);

} // namespace ufx::ucs

#endif
