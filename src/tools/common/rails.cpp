// SPDX-License-Identifier: BSD-3-Clause
// Rails of two ends, as text and compared.
#include "tools/common/rails.h"

#include "tools/common/error.h"

#include <algorithm>
#include <optional>
#include <ufx/ucs.h>

namespace ufx::tools {

namespace {

std::vector<std::string> split(const std::string &text, char separator)
{
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

bool may_reach(const rail_place &from, const rail_place &to)
{
    return from.transport == to.transport && from.address.may_reach(to.address);
}

bool reaches_one_of(const rail_place &rail, const std::vector<rail_place> &others)
{
    return std::any_of(others.begin(), others.end(),
                       [&](const rail_place &other) { return may_reach(other, rail); });
}

/** The own device that is nearest to a rail of the client. */
std::optional<std::string> device_for(const std::vector<net_device> &all, const rail_place &rail)
{
    if (rail.address.loopback()) {
        // The client is on this host.
        return address_of_device(all, rail.device) == rail.address
                   ? std::optional<std::string>(rail.device)
                   : std::nullopt;
    }
    const net_device *best = nullptr;
    for (const net_device &one : all) {
        const bool is_same = one.address == rail.address;
        if (!rail.address.same_subnet(one.address)) {
            continue;
        }
        if (best == nullptr || is_same ||
            (one.name == rail.device && !(best->address == rail.address))) {
            best = &one;
        }
    }
    return best == nullptr ? std::nullopt : std::optional<std::string>(best->name);
}

} // namespace

std::vector<rail_place> places_of(const std::vector<ufx_ucp_rail_attr_t> &rails)
{
    const std::vector<net_device> all = list_net_devices();
    std::vector<rail_place> places;
    for (const ufx_ucp_rail_attr_t &rail : rails) {
        places.push_back({rail.transport, rail.name, address_of_device(all, rail.name)});
    }
    return places;
}

void write_rails(const std::vector<rail_place> &rails, fields &to)
{
    std::string text;
    for (const rail_place &rail : rails) {
        text += (text.empty() ? "" : ",") + rail.transport + " " + rail.device + " " +
                rail.address.text();
    }
    to.set("rails", text);
}

std::vector<rail_place> read_rails(const fields &from)
{
    std::vector<rail_place> rails;
    for (const std::string &rail : split(from.text("rails"), ',')) {
        const std::vector<std::string> words = split(rail, ' ');
        if (words.size() != 3 || rails.size() >= UFX_UCP_RAILS_MAX) {
            throw tool_error("the peer sent a list of rails that does not parse");
        }
        rails.push_back({words[0], words[1], net_address::parse(words[2])});
    }
    return rails;
}

std::string show_devices(const std::vector<rail_place> &rails)
{
    std::string text;
    for (const rail_place &rail : rails) {
        text += (text.empty() ? "" : ",") + rail.device;
    }
    return text;
}

std::string devices_for(const std::vector<rail_place> &client)
{
    if (ufx_ucs_config_get("UFX_NET_DEVICES", nullptr) != nullptr) {
        return "";
    }
    const std::vector<net_device> all = list_net_devices();
    std::vector<std::string> chosen;
    std::string text;
    for (const rail_place &rail : client) {
        const std::optional<std::string> one = device_for(all, rail);
        if (!one) {
            return "";
        }
        if (std::find(chosen.begin(), chosen.end(), *one) == chosen.end()) {
            text += (chosen.empty() ? "" : ",") + *one;
            chosen.push_back(*one);
        }
    }
    return text;
}

void check_rails(const std::vector<rail_place> &server, const std::vector<rail_place> &client,
                 bool every)
{
    const auto fits = [&](const rail_place &rail) { return reaches_one_of(rail, server); };
    const bool fine = every ? std::all_of(client.begin(), client.end(), fits)
                            : std::any_of(client.begin(), client.end(), fits);
    if (!fine) {
        throw tool_error("the server's rails (" + show_devices(server) + ") do not reach " +
                         (every ? "all of " : "") + "the client's (" + show_devices(client) +
                         "): give both ends rails of the same networks by -d");
    }
}

} // namespace ufx::tools
