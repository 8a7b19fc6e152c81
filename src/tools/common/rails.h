// SPDX-License-Identifier: BSD-3-Clause
// Rails of the two ends of a tool, compared before anything is connected, so that rails that cannot
// reach each other are a clear error and not a silence.
#ifndef UFX_TOOLS_COMMON_RAILS_H
#define UFX_TOOLS_COMMON_RAILS_H

#include "tools/common/fields.h"
#include "tools/common/network.h"

#include <string>
#include <ufx/ucp.h>
#include <vector>

namespace ufx::tools {

/** A rail as the other end is told of it. */
struct rail_place {
    std::string transport;
    std::string device;
    net_address address; ///< none for a device that is no network interface
};

/** Rails of a worker, with the addresses that they have on this host. */
std::vector<rail_place> places_of(const std::vector<ufx_ucp_rail_attr_t> &rails);

/** Into and from the field "rails". */
void write_rails(const std::vector<rail_place> &rails, fields &to);
std::vector<rail_place> read_rails(const fields &from);

/** Devices of a list, separated by commas. */
std::string show_devices(const std::vector<rail_place> &rails);

/**
 * What a server that was given no devices uses for this client, as a list for -d: for each of the
 * client's rails the device in its subnet. Empty if a rail has none here, or if UFX_NET_DEVICES
 * says what to use.
 */
std::string devices_for(const std::vector<rail_place> &client);

/** Throws unless each (with `every`) or one of the client's rails may reach one of the server's. */
void check_rails(const std::vector<rail_place> &server, const std::vector<rail_place> &client,
                 bool every);

} // namespace ufx::tools

#endif
