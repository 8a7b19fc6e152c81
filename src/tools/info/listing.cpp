// SPDX-License-Identifier: BSD-3-Clause
// Listings as tables and as indented lines.
#include "tools/info/listing.h"

#include "tools/common/error.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace ufx::tools::info {

namespace {

using json = nlohmann::ordered_json;

std::string value_text(const json &value)
{
    if (value.is_string()) {
        return value.get<std::string>();
    }
    return value.is_number_unsigned() && value.get<uint64_t>() == UINT64_MAX ? "no limit"
                                                                             : value.dump();
}

void add_lines(const json &from, size_t depth, std::string &to)
{
    const std::string indent(2 * depth, ' ');
    for (const auto &[name, value] : from.items()) {
        to += indent + (from.is_array() ? "-" : name + ":");
        if (value.is_structured()) {
            to += '\n';
            add_lines(value, depth + 1, to);
        } else {
            to += ' ' + value_text(value) + '\n';
        }
    }
}

bool has_word(const std::string &words, const std::string &word)
{
    return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

std::string failover_of(const json &device)
{
    const std::string caps = device.value("caps", "");
    return has_word(caps, "invalidate") && has_word(caps, "tokens") && has_word(caps, "purge")
               ? "yes"
               : "no";
}

std::string device_line(const json &device, int width)
{
    char line[256];
    const std::string transport = device.value("transport", ""), name = device.value("device", "");
    if (device.contains("error")) {
        std::snprintf(line, sizeof(line), "%-9s  %-*s  cannot be opened: %s\n", transport.c_str(),
                      width, name.c_str(), device.value("error", "").c_str());
        return line;
    }
    std::snprintf(line, sizeof(line), "%-9s  %-*s  %-7s  %-5s  %6llu  %10.1f  %s\n",
                  transport.c_str(), width, name.c_str(), device.value("type", "").c_str(),
                  device.value("port_active", false) ? "up" : "down",
                  static_cast<unsigned long long>(device.value("bandwidth_mb", uint64_t{0})),
                  static_cast<double>(device.value("latency_ns", uint64_t{0})) / 1e3,
                  failover_of(device).c_str());
    return line;
}

/** Calls `use` with each device of a system's listing, and what cannot be opened. */
template <class Json, class F>
void for_each_device(Json &system, F use)
{
    for (auto &component : system.at("components")) {
        for (auto &domain : component.at("memory_domains")) {
            if (domain.contains("devices")) {
                for (auto &device : domain.at("devices")) {
                    use(device);
                }
            }
        }
    }
}

} // namespace

json parse_listing(const std::string &text)
{
    json listing = json::parse(text, nullptr, false);
    if (listing.is_discarded()) {
        throw tool_error("what was answered is not JSON: another version?");
    }
    return listing;
}

void print_listing(const json &listing, bool as_json)
{
    std::string text;
    if (as_json) {
        text = listing.dump() + '\n';
    } else {
        add_lines(listing, 0, text);
    }
    std::fputs(text.c_str(), stdout);
}

std::string device_table(const json &system)
{
    size_t width = std::strlen("device");
    for_each_device(system, [&](const json &device) {
        width = std::max(width, device.value("device", "").size());
    });
    char head[256];
    std::snprintf(head, sizeof(head), "%-9s  %-*s  %-7s  %-5s  %6s  %10s  %s\n", "transport",
                  static_cast<int>(width), "device", "type", "state", "MB/s", "latency us",
                  "failover");
    std::string text = head;
    for_each_device(
        system, [&](const json &device) { text += device_line(device, static_cast<int>(width)); });
    return text;
}

void name_drained_rails(json &worker)
{
    const auto name = [](json &rail) {
        if (rail.at("state") == "DOWN" && rail.at("drained") == true) {
            rail["state"] = "DRAINED";
        }
    };
    for (json &rail : worker.at("rails")) {
        name(rail);
    }
    for (json &peer : worker.at("peers")) {
        for (json &rail : peer.at("rails")) {
            name(rail);
        }
    }
}

} // namespace ufx::tools::info
