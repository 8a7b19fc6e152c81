// SPDX-License-Identifier: BSD-3-Clause
// Numbers with units, as users write them and as they are shown.
#ifndef UFX_TOOLS_COMMON_UNITS_H
#define UFX_TOOLS_COMMON_UNITS_H

#include <cstdint>
#include <string>

namespace ufx::tools {

constexpr double MIB = 1024.0 * 1024.0;

/**
 * Bytes from "64", "64k", "1M", "2G" or "2GiB"; units are powers of 1024.
 * @param what  name of the option, for the error
 */
uint64_t parse_size(const std::string &text, const std::string &what);

struct number_range {
    uint64_t least, most;
};

/** A whole number, else a usage error that names the range. @param what as parse_size() */
uint64_t parse_number(const std::string &text, const std::string &what,
                      const number_range &allowed);

/** Seconds, more than 0 and at most `most`, as "5" or "2.5". @param what as parse_size() */
double parse_seconds(const std::string &text, const std::string &what, double most);

/** Bits a second from a rate as tc takes it, such as "1gbit" or "100mbps"; at most 1tbit. */
uint64_t parse_tc_rate(const std::string &text, const std::string &what);

/** "512 B", "64.0 KiB", "1.5 MiB". */
std::string show_size(double bytes);

/** Monotonic time in nanoseconds. */
uint64_t now_ns();

} // namespace ufx::tools

#endif
