// SPDX-License-Identifier: BSD-3-Clause
// Listings of the libraries, which come as JSON: what ufx_info makes of them for people.
#ifndef UFX_TOOLS_INFO_LISTING_H
#define UFX_TOOLS_INFO_LISTING_H

#include <nlohmann/json.hpp>
#include <string>

namespace ufx::tools::info {

/** Throws if the text is not JSON. */
nlohmann::ordered_json parse_listing(const std::string &text);

/** JSON for programs, else indented lines. */
void print_listing(const nlohmann::ordered_json &listing, bool json);

/** One line a device of ufx_ucp_system_dump(). */
std::string device_table(const nlohmann::ordered_json &system);

/** In a worker's state: a rail that an administrator took out of service is DRAINED, not DOWN. */
void name_drained_rails(nlohmann::ordered_json &worker);

} // namespace ufx::tools::info

#endif
