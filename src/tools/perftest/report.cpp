// SPDX-License-Identifier: BSD-3-Clause
// Lines of a measurement.
#include "tools/perftest/report.h"

#include "tools/common/output_file.h"
#include "tools/common/units.h"

#include <algorithm>
#include <cctype>

namespace ufx::tools::perftest {

namespace {

constexpr size_t SAMPLES = 1 << 16;

constexpr const char *HEADER =
    "+--------------+--------------+------------------------------+---------------------+"
    "-----------------------+\n"
    "|              |              |  latency or overhead (usec)  |   bandwidth (MB/s)  |"
    "  message rate (msg/s) |\n"
    "+--------------+--------------+----------+---------+---------+----------+----------+"
    "-----------+-----------+\n"
    "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |"
    "  average  |  overall  |\n"
    "+--------------+--------------+----------+---------+---------+----------+----------+"
    "-----------+-----------+\n";
constexpr const char *CSV_HEADER =
    "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n";

std::string number(const char *format, double value)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, value);
    return text;
}

std::string json_text(const std::string &text)
{
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return result + "\"";
}

} // namespace

std::string with_thousands(const std::string &number)
{
    const size_t point = std::min(number.find('.'), number.size());
    std::string result = number;
    for (size_t at = point; at > 3; at -= 3) {
        if (std::isdigit(static_cast<unsigned char>(number[at - 4])) == 0) {
            break;
        }
        result.insert(at - 3, ",");
    }
    return result;
}

reporter::reporter(const options &wanted)
    : wanted_(wanted), out_(wanted.json == "-" ? stderr : stdout),
      has_median_(wanted.window == 1 && wanted.threads == 1),
      factor_(wanted.what->how == pattern::PING_PONG && !wanted.loopback ? 0.5 : 1)
{
    samples_.reserve(SAMPLES);
}

void reporter::start(uint64_t now)
{
    start_ns_ = last_ns_ = now;
    print_header();
}

void reporter::remember(uint64_t took_ns)
{
    const auto kept = static_cast<uint32_t>(std::min<uint64_t>(took_ns, UINT32_MAX));
    if (samples_.size() < SAMPLES) {
        samples_.push_back(kept);
    } else {
        samples_[sampled_ % SAMPLES] = kept;
    }
    sampled_++;
}

figures reporter::measure(uint64_t now)
{
    const double all_us = static_cast<double>(now - start_ns_) / 1e3;
    const double us = static_cast<double>(now - last_ns_) / 1e3;
    const auto all = static_cast<double>(done_);
    const auto count = static_cast<double>(done_ - last_done_);
    const double bytes = static_cast<double>(wanted_.size) / MIB;
    figures line;
    line.iterations = done_;
    if (has_median_ && !samples_.empty()) {
        std::vector<uint32_t> sorted = samples_;
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
        std::nth_element(sorted.begin(), middle, sorted.end());
        line.median = factor_ * *middle / 1e3;
    }
    if (count > 0 && us > 0) {
        line.average = factor_ * us / count;
        line.average_rate = 1e6 / line.average;
        line.average_bandwidth = bytes * line.average_rate;
    }
    if (all > 0 && all_us > 0) {
        line.overall = factor_ * all_us / all;
        line.overall_rate = 1e6 / line.overall;
        line.overall_bandwidth = bytes * line.overall_rate;
    }
    return line;
}

void reporter::progress(uint64_t now)
{
    if (!wanted_.final_only) {
        char stage[32];
        std::snprintf(stage, sizeof(stage), "[%.0f s]", static_cast<double>(now - start_ns_) / 1e9);
        print(stage, measure(now));
    }
    last_ns_ = now;
    last_done_ = done_;
}

void reporter::finish(uint64_t now)
{
    const figures line = measure(now);
    print("Final:", line);
    if (!wanted_.json.empty()) {
        write_text(wanted_.json, to_json(wanted_, line, has_median_));
    }
}

void reporter::print_header()
{
    if (wanted_.final_only) {
        return;
    }
    if (wanted_.csv) {
        std::fputs(CSV_HEADER, out_);
        return;
    }
    std::fprintf(out_, "# %s over %s on %s, %llu bytes, %llu iterations, %u in flight\n",
                 wanted_.what->name, wanted_.transport.c_str(), wanted_.device.c_str(),
                 static_cast<unsigned long long>(wanted_.size),
                 static_cast<unsigned long long>(wanted_.iterations), wanted_.window);
    std::fputs(HEADER, out_);
    std::fflush(out_);
}

void reporter::print(const std::string &stage, const figures &line)
{
    if (wanted_.csv) {
        std::fprintf(out_, "%llu,%s,%.3f,%.3f,%.2f,%.2f,%.0f,%.0f\n",
                     static_cast<unsigned long long>(line.iterations),
                     has_median_ ? number("%.3f", line.median).c_str() : "", line.average,
                     line.overall, line.average_bandwidth, line.overall_bandwidth,
                     line.average_rate, line.overall_rate);
        std::fflush(out_);
        return;
    }
    const auto shown = [this](const char *format, double value) {
        const std::string text = number(format, value);
        return wanted_.thousands ? with_thousands(text) : text;
    };
    std::fprintf(out_, "%-10s%18s %10s %9.3f %9.3f %11s %10s %11s %11s\n", stage.c_str(),
                 shown("%.0f", static_cast<double>(line.iterations)).c_str(),
                 has_median_ ? number("%.3f", line.median).c_str() : "-", line.average,
                 line.overall, shown("%.2f", line.average_bandwidth).c_str(),
                 shown("%.2f", line.overall_bandwidth).c_str(),
                 shown("%.0f", line.average_rate).c_str(),
                 shown("%.0f", line.overall_rate).c_str());
    std::fflush(out_);
}

std::string to_json(const options &wanted, const figures &line, bool has_median)
{
    return "{\n  \"test\": " + json_text(wanted.what->name) +
           ",\n  \"transport\": " + json_text(wanted.transport) +
           ",\n  \"device\": " + json_text(wanted.device) +
           ",\n  \"size\": " + std::to_string(wanted.size) +
           ",\n  \"outstanding\": " + std::to_string(wanted.window) +
           ",\n  \"threads\": " + std::to_string(wanted.threads) +
           ",\n  \"iterations\": " + std::to_string(line.iterations) +
           ",\n  \"median_us\": " + (has_median ? number("%.3f", line.median) : "null") +
           ",\n  \"average_us\": " + number("%.3f", line.average) +
           ",\n  \"overall_us\": " + number("%.3f", line.overall) +
           ",\n  \"overall_mbps\": " + number("%.2f", line.overall_bandwidth) +
           ",\n  \"overall_rate\": " + number("%.0f", line.overall_rate) + "\n}\n";
}

} // namespace ufx::tools::perftest
