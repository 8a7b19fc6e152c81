// SPDX-License-Identifier: BSD-3-Clause
// The picture of a run.
#include "tools/failover/plot.h"

#include "tools/common/error.h"
#include "tools/common/fd.h"
#include "tools/common/output_file.h"
#include "tools/common/units.h"
#include "tools/failover/timeline.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <sys/mman.h>
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

/** What gnuplot makes of a script. */
std::string gnuplot(const std::string &script)
{
    // Not closed on exec: gnuplot opens it by its number.
    const fd commands(::memfd_create("gnuplot", 0));
    if (!commands || ::write(commands.get(), script.data(), script.size()) !=
                         static_cast<ssize_t>(script.size())) {
        throw system_error("--plot: no memory for a script", errno);
    }
    const std::string shell =
        "command -v gnuplot >/dev/null || exit 127; exec gnuplot /proc/self/fd/" +
        std::to_string(commands.get());
    std::FILE *out = ::popen(shell.c_str(), "re");
    if (out == nullptr) {
        throw system_error("--plot: cannot run gnuplot", errno);
    }
    std::string drawn;
    char part[16384];
    while (const size_t n = std::fread(part, 1, sizeof(part), out)) {
        drawn.append(part, n);
    }
    const int status = ::pclose(out);
    if (status != 0) {
        throw tool_error(status == 127 << 8 ? "--plot: gnuplot, which draws, is not installed"
                                            : "--plot: gnuplot failed");
    }
    return drawn;
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

std::string plot_script(const timeline &story, const std::string &terminal)
{
    std::ostringstream out;
    out << "set terminal " << terminal << "\n"
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

void try_plot(const std::string &path)
{
    static_cast<void>(gnuplot("set terminal " + plot_terminal(path) + "\n"));
}

void draw(const timeline &story, const std::string &path)
{
    // It would not say that its file system is full: what it draws is written here.
    const std::string picture = gnuplot(plot_script(story, plot_terminal(path)));
    if (picture.empty()) {
        throw tool_error("--plot: gnuplot drew nothing");
    }
    write_text(path, picture);
}

} // namespace ufx::tools::failover
