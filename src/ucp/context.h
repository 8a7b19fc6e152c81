// SPDX-License-Identifier: BSD-3-Clause
// A context: the configuration, the memory domains, and the devices that are its rails.
#ifndef UFX_UCP_CONTEXT_H
#define UFX_UCP_CONTEXT_H

#include "ucp/config.h"
#include "ucp/handles.h"
#include "ucp/mem_table.h"
#include "ucp/uct_owners.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace ufx::ucp {

// One memory domain; the rails that were opened on it share registrations. After its device has
// failed it is opened again, as its next generation.
class memory_domain {
public:
    static ucs::result<memory_domain> open(const ufx_uct_component_t &component, const char *name,
                                           std::span<const ufx_uct_config_entry_t> entries);
    memory_domain(memory_domain &&other) noexcept;
    memory_domain &operator=(memory_domain &&) = delete;
    ~memory_domain() = default;

    md_ref now() const
    {
        const std::lock_guard guard(lock_);
        return now_;
    }
    ufx_uct_md_h handle() const { return now()->md.get(); }
    // Opens the next generation. One thread at a time.
    ufx_status_t reopen(std::span<const ufx_uct_config_entry_t> entries);
    const std::string &name() const { return name_; }
    const ufx_uct_md_attr_t &attr() const { return attr_; }
    const ufx_uct_component_t &component() const { return *component_; }
    // Local buffers of zero-copy operations must be registered.
    bool needs_memh() const { return (attr_.flags & UFX_UCT_MD_FLAG_NEED_MEMH) != 0; }

private:
    memory_domain(const ufx_uct_component_t &component, const char *name)
        : component_(&component), name_(name)
    {
    }

    const ufx_uct_component_t *component_;
    std::string name_;
    mutable std::mutex lock_; // guards now_
    md_ref now_;
    ufx_uct_md_attr_t attr_{};
};

// A (transport, device) pair that each worker opens as a rail.
struct device {
    std::size_t md = 0; // index into context::domains()
    std::string transport;
    std::string name;
    ufx_uct_device_type_t type = UFX_UCT_DEVICE_NET;
    // Whose IP address it has: its own name, or of an RDMA port that of its network interface.
    std::string interface = {};
    bool has_netdev = false;
    int numa_node = -1;
};

// Any thread, once it is made: devices and the list of domains do not change; memory has its own
// lock.
class context : public ufx_ucp_context {
public:
    // `extra`: components beside the registered ones (tests).
    static ucs::result<ucs::owner<context>>
    create(const ufx_ucp_context_params_t *params,
           std::span<const ufx_uct_component_t *const> extra = {});
    static context &of(ufx_ucp_context_h handle) { return *static_cast<context *>(handle); }

    const config &cfg() const { return cfg_; }
    const std::string &name() const { return name_; }
    // Index = rail index of every worker, at most UFX_UCP_RAILS_MAX.
    const std::vector<device> &devices() const { return devices_; }
    const std::vector<memory_domain> &domains() const { return domains_; }
    // The device of eps to the own worker, if the self transport is there.
    const device *self_device() const { return has_self_ ? &self_ : nullptr; }
    // One of the domains does.
    bool needs_memh() const { return needs_memh_; }
    // The node of the device that is nearest to the caller's processor, for memory that transfers
    // use; -1: no matter.
    int node_for_memory() const;
    std::span<const ufx_uct_config_entry_t> uct_entries() const { return uct_entries_; }
    // The device of a domain has failed: opens it again and registers all memory there, unless
    // another worker did so since `lost`.
    ufx_status_t reopen(std::size_t domain, const md_ref &lost);
    // A rail uses `to` instead of `from`; either may be null.
    void rail_moved(std::size_t domain, const md_ref &from, const md_ref &to) noexcept;

    mem_table memory;
    std::atomic<unsigned> workers = 0; // alive; relaxed: who destroys them and this is one thread

private:
    friend struct ucs::owner_access;
    context() : memory(*this) {}
    ufx_status_t open(std::span<const ufx_uct_component_t *const> components, bool all);
    ufx_status_t check_devices() const;
    bool is_same_cable(const ufx_uct_resource_t &resource) const;
    void find_interfaces(bool all);
    ufx_status_t offer_domain(memory_domain domain, std::vector<std::string> &missing, bool all);
    bool may_be_rail(const ufx_uct_resource_t &resource) const;
    bool wants(const ufx_uct_resource_t &resource, std::vector<std::string> &missing, bool all);
    ufx_status_t try_device(ufx_uct_md_h md, const char *transport, const std::string &name) const;
    void keep_entries(std::span<const ufx_ucp_config_entry_t> entries);

    config cfg_;
    std::string name_;
    std::vector<memory_domain> domains_;
    std::mutex reopening_;
    std::vector<device> devices_;
    device self_;
    bool has_self_ = false;
    bool needs_memh_ = false;
    std::vector<std::string> entry_texts_;
    std::vector<ufx_uct_config_entry_t> uct_entries_;
};

// What a component and a domain offer; empty if they cannot tell.
[[nodiscard]] std::vector<ufx_uct_md_resource_t> mds_of(const ufx_uct_component_t &component);
[[nodiscard]] std::vector<ufx_uct_resource_t> resources_of(ufx_uct_md_h md);

} // namespace ufx::ucp

#endif
