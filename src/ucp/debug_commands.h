// SPDX-License-Identifier: BSD-3-Clause
// What ufx_info may ask a live worker for, by its debug socket.
#ifndef UFX_UCP_DEBUG_COMMANDS_H
#define UFX_UCP_DEBUG_COMMANDS_H

#include <string>
#include <string_view>

namespace ufx::ucp {

class worker;

// `dump text`, `dump json`, `rail NAME drain`, `rail NAME resume`; what goes wrong begins with
// "error: ".
[[nodiscard]] std::string answer_debug(worker &w, std::string_view request);

} // namespace ufx::ucp

#endif
