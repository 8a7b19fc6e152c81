// SPDX-License-Identifier: BSD-3-Clause
// Enumeration of network interfaces with their addresses, and what sysfs says about them.
#include "device.h"

#include "ucs/fd.h"
#include "ucs/interface_addresses.h"
#include "ucs/log.h"

#include <cstdio>
#include <fcntl.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace ufx::uct::tcp {

namespace {

constexpr double bytes_per_mbit = 1e6 / 8;
constexpr double assumed_mbit = 10'000;
constexpr double assumed_loopback_mbit = 100'000;

std::optional<device> device_of(const ucs::interface_address &entry)
{
    std::optional<ip_address> ip =
        ip_address::from(reinterpret_cast<const sockaddr *>(&entry.address));
    if (!ip || !entry.up) {
        return std::nullopt;
    }
    device found;
    found.interface = entry.interface;
    found.index = if_nametoindex(found.interface.c_str());
    found.loopback = entry.loopback;
    found.ip = *ip;
    found.ip.prefix = static_cast<uint8_t>(entry.prefix_length);
    found.name = found.interface + ":" + found.ip.text();
    return found;
}

// Value of a small file of sysfs, nothing if there is none.
std::optional<long> read_number(const device &which, const char *file) noexcept
{
    char path[128];
    std::snprintf(path, sizeof(path), "/sys/class/net/%s/%s", which.interface.c_str(), file);
    ucs::fd source(open(path, O_RDONLY | O_CLOEXEC));
    char text[32] = "";
    if (!source || read(source.get(), text, sizeof(text) - 1) <= 0) {
        return std::nullopt;
    }
    char *end = nullptr;
    long value = std::strtol(text, &end, 10);
    if (end == text) {
        return std::nullopt;
    }
    return value;
}

} // namespace

ucs::result<std::vector<device>> list_devices()
{
    const auto entries = ucs::list_interface_addresses();
    if (!entries) {
        ufx_error("tcp: cannot list network interfaces: %s", std::strerror(errno));
        return entries.error();
    }
    std::vector<device> found;
    for (const ucs::interface_address &entry : *entries) {
        if (std::optional<device> one = device_of(entry)) {
            found.push_back(std::move(*one));
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const device &a, const device &b) {
        return a.index != b.index ? a.index < b.index
                                  : a.ip.family == AF_INET && b.ip.family != AF_INET;
    });
    std::string last;
    for (device &one : found) {
        if (one.interface != last) {
            one.name = one.interface;
            last = one.interface;
        }
    }
    return found;
}

ucs::result<device> find_device(const std::string &name)
{
    ucs::result<std::vector<device>> all = list_devices();
    if (!all) {
        return all.error();
    }
    size_t colon = name.find(':');
    std::string interface = name.substr(0, colon);
    std::string address = colon == std::string::npos ? "" : name.substr(colon + 1);
    if (colon != std::string::npos && address.empty()) {
        ufx_error("tcp: device '%s' names no address behind the colon", name.c_str());
        return UFX_ERR_NO_DEVICE;
    }
    std::optional<ip_address> wanted = ip_address::parse(address);
    if (!address.empty() && !wanted) {
        ufx_error("tcp: '%s' is no IP address in device '%s'", address.c_str(), name.c_str());
        return UFX_ERR_NO_DEVICE;
    }
    const device *same_interface = nullptr;
    for (device &one : *all) {
        if (one.interface != interface) {
            continue;
        }
        if (!wanted || one.ip.same_ip(*wanted)) {
            one.name = name;
            return one;
        }
        same_interface = &one;
    }
    if (same_interface == nullptr) {
        ufx_error("tcp: no interface '%s' that is up and has an address", interface.c_str());
        return UFX_ERR_NO_DEVICE;
    }
    if (!same_interface->loopback || !wanted->loopback()) {
        ufx_error("tcp: interface '%s' does not have the address %s", interface.c_str(),
                  address.c_str());
        return UFX_ERR_NO_DEVICE;
    }
    device extra = *same_interface;
    extra.name = name;
    extra.ip = *wanted;
    extra.ip.prefix = 8;
    return extra;
}

bool port_active(const device &which) noexcept
{
    ucs::fd probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strncpy(request.ifr_name, which.interface.c_str(), IFNAMSIZ - 1);
    if (!probe || ioctl(probe.get(), SIOCGIFFLAGS, &request) != 0) {
        return false;
    }
    constexpr int needed = IFF_UP | IFF_RUNNING;
    return (request.ifr_flags & needed) == needed;
}

double link_bandwidth(const device &which) noexcept
{
    std::optional<long> mbit = read_number(which, "speed");
    if (mbit && *mbit > 0) {
        return static_cast<double>(*mbit) * bytes_per_mbit;
    }
    return (which.loopback ? assumed_loopback_mbit : assumed_mbit) * bytes_per_mbit;
}

int numa_node(const device &which) noexcept
{
    return static_cast<int>(read_number(which, "device/numa_node").value_or(-1));
}

} // namespace ufx::uct::tcp
