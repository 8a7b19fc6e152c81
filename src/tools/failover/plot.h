// SPDX-License-Identifier: BSD-3-Clause
// Draws a run by gnuplot: throughput of each rail over time, with the faults marked.
#ifndef UFX_TOOLS_FAILOVER_PLOT_H
#define UFX_TOOLS_FAILOVER_PLOT_H

#include <string>

namespace ufx::tools::failover {

class timeline;

/** gnuplot's terminal for a file name that ends in .png or .svg; else a usage error. */
std::string plot_terminal(const std::string &path);

/** The commands and data for gnuplot, which writes the picture to its stdout. */
std::string plot_script(const timeline &story, const std::string &terminal);

/** Throws if gnuplot is missing or cannot draw such a file. */
void try_plot(const std::string &path);

/** Draws to `path`; throws if gnuplot is missing or fails, and leaves nothing half drawn. */
void draw(const timeline &story, const std::string &path);

} // namespace ufx::tools::failover

#endif
