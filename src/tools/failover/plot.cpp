// SPDX-License-Identifier: BSD-3-Clause
// The picture of a run.
#include "tools/failover/plot.h"

#include "tools/common/error.h"
#include "tools/common/units.h"
#include "tools/failover/timeline.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <unistd.h>

namespace ufx::tools::failover {

namespace {

// Throughput is drawn as the mean of this much time: short enough to show the dip of a failover.
constexpr uint64_t WINDOW_NS = 50000000;

bool ends_with(const std::string &text, const std::string &tail)
{
    return text.size() >= tail.size() &&
           text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

/** Inside double quotes of gnuplot. */
std::string quoted(const std::string &text)
{
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + "\"";
}

void write_marks(std::ostringstream &out, const timeline &story)
{
    for (const applied_fault &one : story.faults()) {
        const double at = story.seconds(one.at_ns);
        const char *colour = breaks(one.action) ? "#c00000" : "#008000";
        out << "set arrow from " << at << ", graph 0 to " << at << ", graph 1 nohead lc rgb '"
            << colour << "' dt 2\n";
        out << "set label "
            << quoted("rail" + std::to_string(one.rail) + " " + fault_action_name(one.action))
            << " at " << at << ", graph 0.97 offset 0.5,0 noenhanced tc rgb '" << colour << "'\n";
    }
}

void write_data(std::ostringstream &out, const timeline &story)
{
    out << "$data << EOD\n";
    for (uint64_t at = story.start_ns() + WINDOW_NS; at <= story.end_ns(); at += WINDOW_NS / 2) {
        const double scale = MIB * static_cast<double>(WINDOW_NS) / 1e9;
        out << story.seconds(at - WINDOW_NS / 2);
        for (unsigned rail = 0; rail < story.rails().size(); rail++) {
            out << ' '
                << (story.rail_bytes_at(rail, at) - story.rail_bytes_at(rail, at - WINDOW_NS)) /
                       scale;
        }
        out << ' ' << story.mbps(at - WINDOW_NS, at) << '\n';
    }
    out << "EOD\n";
}

} // namespace

std::string plot_terminal(const std::string &path)
{
    if (ends_with(path, ".png")) {
        return "pngcairo size 1200,600";
    }
    if (ends_with(path, ".svg")) {
        return "svg size 1200,600 background '#ffffff'";
    }
    throw usage_error("--plot: '" + path + "' must end in .png or .svg");
}

std::string plot_script(const timeline &story, const std::string &terminal,
                        const std::string &picture)
{
    std::ostringstream out;
    out << "set terminal " << terminal << "\nset output " << quoted(picture) << "\n"
        << "set title 'UFX failover: throughput over time'\nset xlabel 'seconds'\n"
        << "set ylabel 'MB/s'\nset grid\nset key outside bottom center horizontal noenhanced\n"
        << "set xrange [0:" << story.seconds(story.end_ns()) << "]\nset yrange [0:*]\n";
    write_marks(out, story);
    write_data(out, story);
    out << "plot ";
    for (unsigned rail = 0; rail < story.rails().size(); rail++) {
        out << "$data using 1:" << rail + 2 << " with lines lw 2 title "
            << quoted(story.rail_label(rail)) << ", ";
    }
    out << "$data using 1:" << story.rails().size() + 2
        << " with lines lw 1 lc rgb '#606060' title 'delivered'\n";
    return out.str();
}

void draw(const timeline &story, const std::string &path)
{
    const std::string terminal = plot_terminal(path);
    const std::string picture = path + ".ufx-" + std::to_string(::getpid());
    std::FILE *gnuplot = ::popen("gnuplot", "we");
    if (gnuplot == nullptr) {
        throw system_error("cannot run gnuplot", errno);
    }
    const std::string script = plot_script(story, terminal, picture);
    std::fwrite(script.data(), 1, script.size(), gnuplot);
    const int status = ::pclose(gnuplot);
    if (status != 0 || ::rename(picture.c_str(), path.c_str()) != 0) {
        ::unlink(picture.c_str());
        throw tool_error("cannot draw " + path + ": gnuplot " +
                         (status == 127 << 8 ? "is not installed" : "failed"));
    }
}

} // namespace ufx::tools::failover
