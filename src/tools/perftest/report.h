// SPDX-License-Identifier: BSD-3-Clause
// reporter: the lines and the result of a measurement.
#ifndef UFX_TOOLS_PERFTEST_REPORT_H
#define UFX_TOOLS_PERFTEST_REPORT_H

#include "tools/perftest/options.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace ufx::tools::perftest {

/** One line of numbers. Latencies in microseconds, bandwidths in 2^20 bytes per second. */
struct figures {
    uint64_t iterations = 0;
    double median = 0; ///< meaningless, hence not shown, where several operations overlap
    double average = 0, overall = 0;
    double average_bandwidth = 0, overall_bandwidth = 0;
    double average_rate = 0, overall_rate = 0;
};

class reporter {
public:
    explicit reporter(const options &wanted);

    void start(uint64_t now);

    /** One more operation has ended. @param took_ns of this one, if they do not overlap */
    void count(uint64_t now, uint64_t took_ns)
    {
        done_++;
        if (has_median_) {
            remember(took_ns);
        }
        if (now - last_ns_ >= INTERVAL_NS) {
            progress(now);
        }
    }

    /** Operations that ended without being counted one by one. */
    void add(uint64_t count) { done_ += count; }

    /** Prints the last line, and writes the JSON. */
    void finish(uint64_t now);

private:
    static constexpr uint64_t INTERVAL_NS = 1000000000;

    void remember(uint64_t took_ns);
    void progress(uint64_t now);
    figures measure(uint64_t now);
    void print_header();
    void print(const std::string &stage, const figures &line);

    const options &wanted_;
    std::FILE *out_;
    bool has_median_;
    double factor_; ///< ping-pong: half a round trip
    uint64_t start_ns_ = 0, last_ns_ = 0;
    uint64_t done_ = 0, last_done_ = 0;
    std::vector<uint32_t> samples_; ///< the last ones, round and round
    uint64_t sampled_ = 0;
};

/** The JSON of a result. */
std::string to_json(const options &wanted, const figures &line, bool has_median);

/** "1234567" as "1,234,567". */
std::string with_thousands(const std::string &number);

} // namespace ufx::tools::perftest

#endif
