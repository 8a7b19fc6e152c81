// SPDX-License-Identifier: BSD-3-Clause
// Questions to live processes, by the unix socket that UFX_DEBUG_SOCKET=y opens in them.
#ifndef UFX_TOOLS_INFO_LIVE_H
#define UFX_TOOLS_INFO_LIVE_H

#include <string>
#include <vector>

namespace ufx::tools::info {

/**
 * Prints the state of a process, or, if `pid` is empty, of the only one there is.
 * @param folder  of the sockets; empty: the usual one
 */
void dump_process(const std::string &folder, const std::string &pid, bool json);

/** @param words "drain" or "resume", then the process, if there are several */
void change_rail(const std::string &folder, const std::string &rail,
                 const std::vector<std::string> &words);

} // namespace ufx::tools::info

#endif
