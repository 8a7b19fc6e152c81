// SPDX-License-Identifier: BSD-3-Clause
// `ufx_swhca show`: what is in a fabric, as text and as JSON.
#ifndef UFX_SWHCA_TOOL_SHOW_H
#define UFX_SWHCA_TOOL_SHOW_H

#include "fabric_directory.h"

#include <string>

namespace ufx::swhca::tool {

[[nodiscard]] std::string show(fabric_directory &where, bool json);

} // namespace ufx::swhca::tool

#endif
