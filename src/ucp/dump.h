// SPDX-License-Identifier: BSD-3-Clause
// The state of a worker, and what there is in this system, for people (text) and programs (JSON).
#ifndef UFX_UCP_DUMP_H
#define UFX_UCP_DUMP_H

#include "ucp/core/rail.h"

#include <ufx/ucp.h>

#include <string>

namespace ufx::ucp {

class rail;
class worker;

// Why it is in its state: that it was drained says nothing of a DOWN rail, but what drained it
// does.
[[nodiscard]] core::cause cause_of(const core::rail &r);
[[nodiscard]] ufx_ucp_rail_attr_t describe_rail(const worker &w, const rail &r);
[[nodiscard]] std::string dump_worker(worker &w, ufx_ucp_dump_format_t format);
// Components, devices, capabilities; needs no context.
[[nodiscard]] std::string dump_system(ufx_ucp_dump_format_t format);
// Makes the settings of all components known to ufx_ucs_config_print().
void declare_component_config();

} // namespace ufx::ucp

#endif
