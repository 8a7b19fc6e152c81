// SPDX-License-Identifier: BSD-3-Clause
// What a transport must offer to be a rail.
#ifndef UFX_UCP_RAIL_NEEDS_H
#define UFX_UCP_RAIL_NEEDS_H

#include <ufx/uct.h>

#include <cstddef>
#include <string>

namespace ufx::ucp {

// UNSUPPORTED, with one line in the log that names what is missing. `key_bytes`: of a packed key;
// `published_bytes`: of the port's address as ADDR carries it, at most.
[[nodiscard]] ufx_status_t check_rail(const std::string &name, const ufx_uct_iface_attr_t &attr,
                                      std::size_t key_bytes, std::size_t published_bytes);

} // namespace ufx::ucp

#endif
