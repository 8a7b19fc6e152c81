// SPDX-License-Identifier: BSD-3-Clause
// Opens devices and asks them.
#include "device.h"

#include "ucs/log.h"
#include "ucs/topology.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <net/if.h>
#include <set>
#include <string>
#include <system_error>

#include <infiniband/mlx5dv.h>

namespace ufx::uct::ib {

namespace {

struct free_list {
    void operator()(ibv_device **list) const noexcept { ibv_free_device_list(list); }
};

struct device_list {
    device_list() : devices(ibv_get_device_list(&count)) {}

    int count = 0;
    std::unique_ptr<ibv_device *[], free_list> devices;
};

// Lanes and rate of the InfiniBand encoding, in bits per second after line coding.
double port_bandwidth(const ibv_port_attr &attr)
{
    const double lanes = attr.active_width == 1   ? 1
                         : attr.active_width == 2 ? 4
                         : attr.active_width == 4 ? 8
                         : attr.active_width == 8 ? 12
                                                  : 2;
    double gigabits = 2;
    switch (attr.active_speed) {
    case 1: // SDR
        gigabits = 2;
        break;
    case 2:
        gigabits = 4;
        break;
    case 4:
        gigabits = 8;
        break;
    case 8: // FDR10
        gigabits = 10;
        break;
    case 16: // FDR
        gigabits = 13.64;
        break;
    case 32: // EDR
        gigabits = 25;
        break;
    case 64: // HDR
        gigabits = 50;
        break;
    case 128: // NDR
        gigabits = 100;
        break;
    default:
        break;
    }
    return lanes * gigabits * 1e9 / 8;
}

gid_type type_of(const ibv_gid_entry &entry)
{
    return entry.gid_type == IBV_GID_TYPE_IB        ? gid_type::infiniband
           : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? gid_type::roce_v1
                                                    : gid_type::roce_v2;
}

std::string netdev_name(uint32_t ifindex)
{
    char name[IF_NAMESIZE] = "";
    return ifindex != 0 && ::if_indextoname(ifindex, name) != nullptr ? name : "";
}

// Devices that could not be opened, and were complained of: one that failed is tried now and again.
struct refused_devices {
    std::mutex lock;
    std::set<std::string> names;
};

refused_devices &refused()
{
    static auto *const all = new refused_devices; // never destroyed: contexts may be opened at exit
    return *all;
}

void tell_refusal(const std::string &name, int error)
{
    const std::lock_guard guard(refused().lock);
    if (refused().names.insert(name).second) {
        ufx_warn("%s cannot be opened: %s", name.c_str(), std::strerror(error));
    }
}

void forget_refusal(const std::string &name)
{
    const std::lock_guard guard(refused().lock);
    refused().names.erase(name);
}

// Entries of the device's folder `net`; `dev_port` counts ports from 0.
std::vector<std::string> netdevs_of_kernel(const char *device_path, uint8_t port)
{
    std::vector<std::string> found;
    std::error_code error;
    for (const auto &each :
         std::filesystem::directory_iterator(std::string(device_path) + "/device/net", error)) {
        std::ifstream file(each.path() / "dev_port");
        int number = -1;
        if (file >> number && number == port - 1) {
            found.push_back(each.path().filename());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

std::vector<std::string> device_names()
{
    const device_list all;
    std::vector<std::string> names;
    for (int i = 0; i < all.count; i++) {
        names.emplace_back(ibv_get_device_name(all.devices[i]));
    }
    return names;
}

ucs::result<ucs::owner<device>> device::open(const std::string &name)
{
    const device_list all;
    for (int i = 0; i < all.count; i++) {
        if (name != ibv_get_device_name(all.devices[i])) {
            continue;
        }
        context_owner context(ibv_open_device(all.devices[i]));
        ibv_device_attr attr{};
        if (context == nullptr || ibv_query_device(context.get(), &attr) != 0) {
            tell_refusal(name, errno);
            return UFX_ERR_IO;
        }
        forget_refusal(name);
        return ucs::make_owner<device>(name, std::move(context), attr);
    }
    return UFX_ERR_NO_DEVICE;
}

device::device(std::string name, context_owner context, const ibv_device_attr &attr) noexcept
    : name_(std::move(name)), context_(std::move(context)), attr_(attr)
{
}

bool device::is_mlx5() const noexcept
{
    return mlx5dv_is_supported(context_->device);
}

int device::numa_node() const
{
    const std::string folder = std::string(context_->device->ibdev_path) + "/device/";
    std::ifstream file(folder + "numa_node");
    int node = -1;
    if (file >> node && node >= 0) {
        return node;
    }
    std::string processors;
    const auto *machine = ucs::topology::of_machine();
    const bool is_told =
        machine != nullptr && std::ifstream(folder + "local_cpulist") >> processors;
    return is_told ? machine->node_of(processors) : -1;
}

ucs::result<port_state> device::query_port(uint8_t port) const noexcept
{
    ibv_port_attr attr{};
    if (ibv_query_port(context_.get(), port, &attr) != 0) {
        return UFX_ERR_IO;
    }
    return port_state{.active = attr.state == IBV_PORT_ACTIVE,
                      .ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET,
                      .lid = attr.lid,
                      .max_message = attr.max_msg_sz,
                      .mtu_shift = static_cast<uint8_t>(attr.active_mtu + 7),
                      .bandwidth = port_bandwidth(attr)};
}

std::vector<std::string> device::netdevs(uint8_t port) const
{
    const std::vector<gid_entry> table = gid_table(port);
    std::vector<std::string> found;
    const auto take = [&found](const std::string &name) {
        if (!name.empty() && std::find(found.begin(), found.end(), name) == found.end()) {
            found.push_back(name);
        }
    };
    for (const unsigned index : rank_gids(table)) {
        for (const gid_entry &one : table) {
            take(one.index == index ? one.netdev : "");
        }
    }
    for (const gid_entry &one : table) {
        take(one.netdev);
    }
    return found.empty() ? netdevs_of_kernel(context_->device->ibdev_path, port) : found;
}

std::vector<gid_entry> device::gid_table(uint8_t port) const
{
    std::vector<gid_entry> table;
    ibv_port_attr attr{};
    if (ibv_query_port(context_.get(), port, &attr) != 0) {
        return table;
    }
    for (int i = 0; i < attr.gid_tbl_len; i++) {
        ibv_gid_entry entry{};
        if (ibv_query_gid_ex(context_.get(), port, static_cast<uint32_t>(i), &entry, 0) != 0) {
            continue; // not set
        }
        gid_entry &made = table.emplace_back();
        made.index = static_cast<unsigned>(i);
        made.type = type_of(entry);
        std::memcpy(made.gid.data(), entry.gid.raw, made.gid.size());
        made.netdev = netdev_name(entry.ndev_ifindex);
    }
    return table;
}

port_name parse_port_name(const std::string &text)
{
    const size_t colon = text.rfind(':');
    port_name parsed{text.substr(0, colon), 0};
    if (colon != std::string::npos) {
        const char *end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, parsed.port);
        parsed.port = error == std::errc() && stop == end ? parsed.port : uint8_t{0};
    }
    return parsed;
}

} // namespace ufx::uct::ib
