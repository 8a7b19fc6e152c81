// SPDX-License-Identifier: BSD-3-Clause
// A context: which components, memory domains and devices become rails.
#include "ucp/context.h"

#include "ucp/address.h"
#include "ucp/dump.h"
#include "ucs/config_parse.h"
#include "ucs/log.h"
#include "ucs/topology.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ufx::ucp {

namespace {

std::string interface_of(const std::string &device)
{
    return device.substr(0, device.find(':'));
}

// `wanted` names the resource itself, or another address of its interface.
bool names(const std::string &wanted, const std::string &resource)
{
    return wanted == resource || wanted == interface_of(resource) ||
           (wanted.find(':') != std::string::npos &&
            interface_of(wanted) == interface_of(resource));
}

std::vector<std::string> netdevs_of(ufx_uct_md_h md, const char *device)
{
    std::size_t count = 0;
    (void)ufx_uct_md_query_netdevs(md, device, nullptr, &count);
    std::vector<ufx_uct_netdev_t> found(count);
    if (count == 0 || ufx_uct_md_query_netdevs(md, device, found.data(), &count) != UFX_OK) {
        return {};
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        names.emplace_back(found[i].name);
    }
    return names;
}

} // namespace

std::vector<ufx_uct_resource_t> resources_of(ufx_uct_md_h md)
{
    std::size_t count = 0;
    if (ucs::is_error(ufx_uct_md_query_resources(md, nullptr, &count)) && count == 0) {
        return {};
    }
    std::vector<ufx_uct_resource_t> found(count);
    if (ufx_uct_md_query_resources(md, found.data(), &count) != UFX_OK) {
        return {};
    }
    found.resize(count);
    return found;
}

std::vector<ufx_uct_md_resource_t> mds_of(const ufx_uct_component_t &component)
{
    std::size_t count = 0;
    (void)ufx_uct_component_query_mds(&component, nullptr, &count);
    std::vector<ufx_uct_md_resource_t> found(count);
    if (count == 0 || ufx_uct_component_query_mds(&component, found.data(), &count) != UFX_OK) {
        return {};
    }
    found.resize(count);
    return found;
}

ucs::result<memory_domain> memory_domain::open(const ufx_uct_component_t &component,
                                               const char *name,
                                               std::span<const ufx_uct_config_entry_t> entries)
{
    memory_domain domain(component, name);
    if (const ufx_status_t status = domain.reopen(entries); status != UFX_OK) {
        return status;
    }
    if (const ufx_status_t status = ufx_uct_md_query(domain.handle(), &domain.attr_);
        status != UFX_OK) {
        return status;
    }
    return domain;
}

memory_domain::memory_domain(memory_domain &&other) noexcept
    : component_(other.component_), name_(std::move(other.name_)), now_(std::move(other.now_)),
      attr_(other.attr_)
{
}

ufx_status_t memory_domain::reopen(std::span<const ufx_uct_config_entry_t> entries)
{
    ufx_uct_md_params_t params{};
    params.field_mask = UFX_UCT_MD_PARAM_CONFIG;
    params.config = entries.data();
    params.config_count = entries.size();
    ufx_uct_md_h handle = nullptr;
    const ufx_status_t status = ufx_uct_md_open(component_, name_.c_str(), &params, &handle);
    if (status != UFX_OK) {
        return status;
    }
    md_owner owned(handle);
    auto opened = std::make_shared<md_generation>(std::move(owned), now_ == nullptr ? 1 : now_->number + 1);
    const std::lock_guard guard(lock_);
    now_.swap(opened);
    return UFX_OK;
}

void context::rail_moved(std::size_t domain, const md_ref &from, const md_ref &to) noexcept
{
    if (to != nullptr) {
        ++to->rails;
    }
    if (from != nullptr && --from->rails == 0 && from != domains_[domain].now()) {
        memory.forget(from);
    }
}

ufx_status_t context::reopen(std::size_t domain, const md_ref &lost)
{
    const std::lock_guard guard(reopening_);
    if (domains_[domain].now() != lost) {
        return UFX_OK;
    }
    if (const ufx_status_t status = domains_[domain].reopen(uct_entries_); status != UFX_OK) {
        return status;
    }
    if (memory.reregister(domain) != UFX_OK) {
        ufx_warn("%s: not all memory could be registered again", domains_[domain].name().c_str());
    }
    return UFX_OK;
}

int context::node_for_memory() const
{
    const ucs::topology *machine = ucs::topology::of_machine();
    if (machine == nullptr || devices_.empty()) {
        return -1;
    }
    std::vector<int> nodes;
    for (const device &d : devices_) {
        nodes.push_back(d.numa_node);
    }
    return nodes[machine->nearest(ucs::current_node(), nodes)];
}

bool context::may_be_rail(const ufx_uct_resource_t &resource) const
{
    const auto &tls = cfg_.tls;
    return resource.dev_type != UFX_UCT_DEVICE_SELF &&
           (std::find(tls.begin(), tls.end(), "all") != tls.end() ||
            std::find(tls.begin(), tls.end(), resource.tl_name) != tls.end());
}

bool context::wants(const ufx_uct_resource_t &resource, std::vector<std::string> &missing, bool all)
{
    if (!may_be_rail(resource)) {
        return false;
    }
    if (all) {
        return resource.dev_type == UFX_UCT_DEVICE_NET && interface_of(resource.dev_name) != "lo";
    }
    return std::any_of(missing.begin(), missing.end(),
                       [&](const std::string &wanted) { return names(wanted, resource.dev_name); });
}

// A device that its transport does not list, such as lo:127.0.0.2, may be there all the same; the
// transport logs what is wrong with it.
ufx_status_t context::try_device(ufx_uct_md_h md, const char *transport,
                                 const std::string &name) const
{
    ufx_uct_iface_params_t params{};
    params.field_mask =
        UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME | UFX_UCT_IFACE_PARAM_CONFIG;
    params.tl_name = transport;
    params.dev_name = name.c_str();
    params.config = uct_entries_.data();
    params.config_count = uct_entries_.size();
    ufx_uct_iface_h trial = nullptr;
    const ufx_status_t status = ufx_uct_iface_open(md, &params, &trial);
    if (status == UFX_OK) {
        ufx_uct_iface_close(trial);
    }
    return status;
}

// A rail that is named twice is no second way to a peer.
ufx_status_t context::check_devices() const
{
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const sockaddr_storage here = find_device_address(devices_[i].name).address;
        for (std::size_t k = i + 1; k < devices_.size(); ++k) {
            const sockaddr_storage there = find_device_address(devices_[k].name).address;
            if (interface_of(devices_[i].name) == interface_of(devices_[k].name) &&
                here.ss_family != AF_UNSPEC && same_address(here, there)) {
                ufx_error("devices %s and %s are one and the same: it cannot be two rails",
                          devices_[i].name.c_str(), devices_[k].name.c_str());
                return UFX_ERR_INVALID_PARAM;
            }
        }
    }
    return UFX_OK;
}

// One cable is one rail: a further address of an interface is one only if it is named, and of two
// transports over one port the first is the better one.
bool context::is_same_cable(const ufx_uct_resource_t &resource) const
{
    const std::string_view name = resource.dev_name;
    const std::string_view interface = name.substr(0, name.find(':'));
    return std::any_of(devices_.begin(), devices_.end(), [&](const device &d) {
        return d.name == name || (d.name == interface && d.transport == resource.tl_name);
    });
}

// An RDMA port and its network interface are one cable, and so one rail unless both are named.
void context::find_interfaces(bool all)
{
    std::vector<std::string> taken;
    for (device &d : devices_) {
        const std::vector<std::string> netdevs =
            netdevs_of(domains_[d.md].handle(), d.name.c_str());
        d.has_netdev = !netdevs.empty();
        d.interface = d.has_netdev ? netdevs.front() : d.name;
        taken.insert(taken.end(), netdevs.begin(), netdevs.end());
    }
    std::erase_if(devices_, [&](const device &d) {
        const bool is_taken =
            all && !d.has_netdev &&
            std::find(taken.begin(), taken.end(), interface_of(d.name)) != taken.end();
        if (is_taken) {
            ufx_info("%s is no rail of its own: it is the interface of an RDMA port that is one",
                     d.name.c_str());
        }
        return is_taken;
    });
}

// Takes the domain if one of its devices becomes a rail.
ufx_status_t context::offer_domain(memory_domain domain, std::vector<std::string> &missing,
                                   bool all)
{
    const std::size_t index = domains_.size();
    bool used = false;
    for (const ufx_uct_resource_t &resource : resources_of(domain.handle())) {
        if (resource.dev_type == UFX_UCT_DEVICE_SELF) {
            if (!has_self_) {
                self_ = {.md = index,
                         .transport = resource.tl_name,
                         .name = resource.dev_name,
                         .type = resource.dev_type,
                         .interface = resource.dev_name};
                has_self_ = used = true;
            }
            continue;
        }
        if (!wants(resource, missing, all)) {
            continue;
        }
        used = true;
        if (all && is_same_cable(resource)) {
            continue;
        }
        if (all) {
            devices_.push_back({.md = index,
                                .transport = resource.tl_name,
                                .name = resource.dev_name,
                                .type = resource.dev_type,
                                .numa_node = resource.numa_node});
            continue;
        }
        for (const std::string &wanted : std::vector(missing)) {
            if (!names(wanted, resource.dev_name)) {
                continue;
            }
            if (wanted != resource.dev_name) {
                const ufx_status_t status = try_device(domain.handle(), resource.tl_name, wanted);
                if (status != UFX_OK) {
                    return status;
                }
            }
            devices_.push_back({.md = index,
                                .transport = resource.tl_name,
                                .name = wanted,
                                .type = resource.dev_type,
                                .numa_node = resource.numa_node});
            std::erase(missing, wanted);
        }
    }
    if (used) {
        needs_memh_ = needs_memh_ || domain.needs_memh();
        domains_.push_back(std::move(domain));
    }
    return UFX_OK;
}

ufx_status_t context::open(std::span<const ufx_uct_component_t *const> components, bool all)
{
    std::vector<std::string> missing = all ? std::vector<std::string>{} : cfg_.net_devices;
    for (auto it = missing.begin(); it != missing.end(); ++it) {
        if (std::find(missing.begin(), it, *it) != it) {
            ufx_error("device %s is named twice: it cannot be two rails", it->c_str());
            return UFX_ERR_INVALID_PARAM;
        }
    }
    std::string there;
    std::string others; // that cannot be rails
    for (const ufx_uct_component_t *component : components) {
        for (const ufx_uct_md_resource_t &md : mds_of(*component)) {
            ucs::result<memory_domain> domain =
                memory_domain::open(*component, md.md_name, uct_entries_);
            if (!domain) {
                ufx_debug("context: %s is not used: %s", md.md_name,
                          ufx_ucs_status_string(domain.error()));
                continue;
            }
            for (const ufx_uct_resource_t &resource : resources_of(domain->handle())) {
                std::string &list = may_be_rail(resource) ? there : others;
                list += std::string(list.empty() ? "" : ", ") + resource.dev_name;
            }
            const ufx_status_t status = offer_domain(std::move(*domain), missing, all);
            if (status != UFX_OK) {
                return status;
            }
        }
    }
    if (!missing.empty()) {
        const bool is_other =
            (", " + others + ",").find(", " + missing.front() + ",") != std::string::npos;
        ufx_error(is_other
                      ? "device %s cannot be a rail: it does not leave its process, or UFX_TLS "
                        "leaves its transport out; these can: %s"
                      : "there is no device %s; there are: %s",
                  missing.front().c_str(), there.c_str());
        return UFX_ERR_NO_DEVICE;
    }
    if (devices_.empty()) {
        ufx_error("no network device can be a rail (loopback must be named in UFX_NET_DEVICES%s); "
                  "there are: %s",
                  there.empty() ? ", a transport in UFX_TLS" : "",
                  there.empty() ? "none" : there.c_str());
        return UFX_ERR_NO_DEVICE;
    }
    find_interfaces(all);
    if (!all) { // rail order is the order in which they were named
        std::stable_sort(devices_.begin(), devices_.end(), [&](const device &a, const device &b) {
            const auto at = [&](const device &d) {
                return std::find(cfg_.net_devices.begin(), cfg_.net_devices.end(), d.name);
            };
            return at(a) < at(b);
        });
    }
    if (devices_.size() > UFX_UCP_RAILS_MAX) {
        ufx_warn("only the first %d of %zu devices are used", UFX_UCP_RAILS_MAX, devices_.size());
        devices_.resize(UFX_UCP_RAILS_MAX);
    }
    return all ? UFX_OK : check_devices();
}

void context::keep_entries(std::span<const ufx_ucp_config_entry_t> entries)
{
    entry_texts_.reserve(entries.size() * 2);
    for (const ufx_ucp_config_entry_t &entry : entries) {
        const std::string &name = entry_texts_.emplace_back(entry.name);
        const std::string &value = entry_texts_.emplace_back(entry.value);
        uct_entries_.push_back({name.c_str(), value.c_str()});
    }
}

ucs::result<ucs::owner<context>> context::create(const ufx_ucp_context_params_t *params,
                                                 std::span<const ufx_uct_component_t *const> extra)
{
    static const ufx_ucp_context_params_t defaults{};
    const ufx_ucp_context_params_t &given = params != nullptr ? *params : defaults;
    ucs::owner<context> made = ucs::make_owner<context>();
    std::span<const ufx_ucp_config_entry_t> entries;
    if ((given.field_mask & UFX_UCP_CONTEXT_PARAM_CONFIG) != 0) {
        if (given.config == nullptr && given.config_count != 0) {
            ufx_error("context_create: config is NULL, config_count is %zu", given.config_count);
            return UFX_ERR_INVALID_PARAM;
        }
        entries = {given.config, given.config_count};
    }
    const ufx_uct_component_t **list = nullptr;
    std::size_t count = 0;
    ufx_status_t status = ufx_uct_query_components(&list, &count);
    if (status != UFX_OK) {
        return status;
    }
    std::vector<const ufx_uct_component_t *> components(list, list + count);
    ufx_uct_release_component_list(list);
    components.insert(components.end(), extra.begin(), extra.end());
    status = check_entries(entries, components);
    if (status != UFX_OK) {
        return status;
    }
    made->cfg_ = load_config(entries);
    made->keep_entries(entries);
    if ((given.field_mask & UFX_UCP_CONTEXT_PARAM_NAME) != 0 && given.name != nullptr) {
        made->name_ = given.name;
    }
    if ((given.field_mask & UFX_UCP_CONTEXT_PARAM_DEVICES) != 0 && given.devices != nullptr) {
        made->cfg_.net_devices = ucs::parse_list(given.devices);
        if (made->cfg_.net_devices.empty()) {
            ufx_error(
                "context_create: devices is an empty list; \"all\" is every network device but "
                "loopback");
            return UFX_ERR_INVALID_PARAM;
        }
    }
    const auto &wanted = made->cfg_.net_devices;
    const bool all = wanted.empty() || (wanted.size() == 1 && wanted.front() == "all");
    declare_component_config(); // a transport's setting is not an unknown one
    (void)ufx_ucs_config_check_unknown();
    status = made->open(components, all);
    if (status != UFX_OK) {
        return status;
    }
    return made;
}

} // namespace ufx::ucp
