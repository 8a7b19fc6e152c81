// SPDX-License-Identifier: BSD-3-Clause
// What ufx_info may ask a live worker for.
#include "ucp/debug_commands.h"

#include "ucp/dump.h"
#include "ucp/peer.h"
#include "ucp/worker.h"

namespace ufx::ucp {

std::string answer_debug(worker &w, std::string_view request)
{
    if (request == "dump text") {
        return dump_worker(w, UFX_UCP_DUMP_TEXT);
    }
    if (request == "dump json") {
        return dump_worker(w, UFX_UCP_DUMP_JSON);
    }
    constexpr std::string_view rail_word = "rail ";
    const std::size_t last = request.rfind(' ');
    if (!request.starts_with(rail_word) || last < rail_word.size()) {
        return "error: requests are `dump text`, `dump json`, `rail NAME drain`, "
               "`rail NAME resume`\n";
    }
    const std::string name(request.substr(rail_word.size(), last - rail_word.size()));
    const std::string_view verb = request.substr(last + 1);
    if (verb != "drain" && verb != "resume") {
        return "error: a rail can be told to `drain` or `resume`\n";
    }
    const bool drain = verb == "drain";
    const ufx_status_t status =
        drain ? ufx_ucp_rail_drain(&w, name.c_str()) : ufx_ucp_rail_resume(&w, name.c_str());
    if (status != UFX_OK) {
        std::string rails;
        for (const auto &r : w.rails()) {
            rails += " " + r->name();
        }
        return "error: there is no rail " + name + "; there are:" + rails + "\n";
    }
    return name + (drain ? ": drain begun\n" : ": resume begun\n");
}

} // namespace ufx::ucp
