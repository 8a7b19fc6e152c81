// SPDX-License-Identifier: BSD-3-Clause
// Durations and rates as people write them: 4us, 1.5ms, 10Gb/s.
#ifndef UFX_SWHCA_FAULTS_UNITS_H
#define UFX_SWHCA_FAULTS_UNITS_H

#include <cstdint>
#include <string_view>

namespace ufx::swhca {

// A number and a unit: ns, us, ms, s. False if it is neither, or does not fit.
[[nodiscard]] bool parse_duration(std::string_view text, uint64_t &ns) noexcept;

// b/s, kb/s, Mb/s, Gb/s; or the same with "bit/s".
[[nodiscard]] bool parse_rate(std::string_view text, uint64_t &bits_per_s) noexcept;

// Decimal, or hexadecimal behind 0x.
[[nodiscard]] bool parse_number(std::string_view text, uint64_t &value) noexcept;

} // namespace ufx::swhca

#endif
