// SPDX-License-Identifier: BSD-3-Clause
// The fabric of the scripted transport, its component and memory.
#include "fake_impl.h"

#include "ucs/bytes.h"

#include <ufx/uct.h>

#include <algorithm>

namespace ufx::uct::fake {

namespace {

constexpr char md_name_[] = "fake";
constexpr ufx_uct_component_t fake_component = make_component<fake_md>("fake");

} // namespace

fabric &the_fabric()
{
    static fabric the_one;
    return the_one;
}

device *fabric::find(std::string_view name) const noexcept
{
    for (const ucs::owner<device> &candidate : devices) {
        if (candidate->name == name) {
            return candidate.get();
        }
    }
    return nullptr;
}

device *fabric::find(uint64_t id) const noexcept
{
    for (const ucs::owner<device> &candidate : devices) {
        if (candidate->id == id) {
            return candidate.get();
        }
    }
    return nullptr;
}

bool fabric::allows(uint64_t rkey, uint64_t address, size_t length, uint64_t flags) const noexcept
{
    auto found = regions.find(rkey);
    if (found == regions.end() || (found->second.flags & flags) != flags) {
        return false;
    }
    const region &memory = found->second;
    return address >= memory.address && length <= memory.length &&
           address - memory.address <= memory.length - length;
}

bool fabric::takes(const ufx_uct_iov_t *iov, size_t count) const noexcept
{
    return !needs_memh || std::all_of(iov, iov + count, [this](const ufx_uct_iov_t &piece) {
        return piece.length == 0 ||
               allows(reinterpret_cast<uint64_t>(piece.memh),
                      reinterpret_cast<uintptr_t>(piece.buffer), piece.length, 0);
    });
}

void require_registration()
{
    the_fabric().needs_memh = true;
}

void refuse_registration(bool refused)
{
    the_fabric().refuses_registration = refused;
}

size_t cacheable_registrations() noexcept
{
    return the_fabric().cacheable;
}

size_t registrations() noexcept
{
    return the_fabric().regions.size();
}

void install()
{
    static_cast<void>(ufx_uct_register_component(&fake_component));
}

void add_device(std::string_view name, const device_options &options)
{
    auto added = ucs::make_owner<device>();
    added->name = name;
    added->options = options;
    added->id = the_fabric().next_id++;
    the_fabric().devices.push_back(std::move(added));
}

void reset()
{
    the_fabric().devices.clear();
    the_fabric().needs_memh = false;
    the_fabric().refuses_registration = false;
    the_fabric().cacheable = 0;
}

std::vector<side *> sides(std::string_view name)
{
    std::vector<side *> found;
    if (device *on = the_fabric().find(name)) {
        found.assign(on->ifaces.begin(), on->ifaces.end());
    }
    return found;
}

void cut(std::string_view name)
{
    for (side *each : sides(name)) {
        each->data.lose();
        each->acks.lose();
    }
}

void restore(std::string_view name)
{
    for (side *each : sides(name)) {
        each->data.open();
        each->acks.open();
    }
}

// ---- Md
// ------------------------------------------------------------------------------------------

fake_md::fake_md() noexcept : md_base(fake_component) {}

ufx_status_t fake_md::query_md_resources(ufx_uct_md_resource_t *resources, size_t *count)
{
    ufx_uct_md_resource_t only{};
    set_name(only.md_name, md_name_);
    return give_list<ufx_uct_md_resource_t>({&only, 1}, resources, count);
}

ucs::result<ucs::owner<fake_md>> fake_md::open(const char *md_name, const ufx_uct_md_params_t &)
{
    if (md_name == nullptr || std::string_view(md_name) != md_name_) {
        return UFX_ERR_NO_DEVICE;
    }
    return ucs::make_owner<fake_md>();
}

const ufx_uct_config_row_t *fake_md::config_rows(size_t *count) noexcept
{
    *count = 0;
    return nullptr;
}

ufx_status_t fake_md::query(ufx_uct_md_attr_t *attr) noexcept
{
    *attr = {};
    attr->flags = UFX_UCT_MD_FLAG_REG | UFX_UCT_MD_FLAG_ALLOC | UFX_UCT_MD_FLAG_NEED_RKEY |
                  UFX_UCT_MD_FLAG_INVALIDATE |
                  (the_fabric().needs_memh ? UFX_UCT_MD_FLAG_NEED_MEMH | UFX_UCT_MD_FLAG_CACHE : 0);
    attr->max_reg = SIZE_MAX;
    attr->rkey_packed_size = rkey_len;
    attr->reg_mem_types = 1u << UFX_UCT_MEMORY_TYPE_HOST;
    attr->access_flags = UFX_UCT_MEM_ACCESS_ALL;
    return UFX_OK;
}

ufx_status_t fake_md::query_resources(ufx_uct_resource_t *resources, size_t *count)
{
    std::vector<ufx_uct_resource_t> all;
    for (const ucs::owner<device> &each : the_fabric().devices) {
        ufx_uct_resource_t one{};
        set_name(one.tl_name, md_name_);
        set_name(one.dev_name, each->name);
        one.dev_type = UFX_UCT_DEVICE_NET;
        one.numa_node = -1;
        all.push_back(one);
    }
    return give_list<ufx_uct_resource_t>(all, resources, count);
}

ufx_status_t fake_md::query_netdevs(const char *dev_name, ufx_uct_netdev_t *netdevs, size_t *count)
{
    const device *which = the_fabric().find(dev_name);
    if (which == nullptr) {
        return UFX_ERR_NO_DEVICE;
    }
    std::vector<ufx_uct_netdev_t> all;
    if (!which->options.netdev.empty()) {
        set_name(all.emplace_back().name, which->options.netdev);
    }
    return give_list<ufx_uct_netdev_t>(all, netdevs, count);
}

ufx_status_t fake_md::mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh)
{
    ufx_status_t status = check_host_memory(*params, true, UFX_UCT_MEM_CACHED);
    if (status != UFX_OK) {
        return status;
    }
    if (is_lost_) {
        return UFX_ERR_IO;
    }
    const bool is_cacheable = (access_flags(*params) & UFX_UCT_MEM_CACHED) != 0;
    the_fabric().cacheable += is_cacheable ? 1 : 0;
    if (the_fabric().refuses_registration) {
        return UFX_ERR_NO_MEMORY;
    }
    const uint64_t key = the_fabric().next_id++;
    the_fabric().regions[key] = {this, reinterpret_cast<uintptr_t>(params->address), params->length,
                                 access_flags(*params)};
    *memh = reinterpret_cast<ufx_uct_mem_h>(key);
    return UFX_OK;
}

ufx_status_t fake_md::mem_dereg(ufx_uct_mem_h memh) noexcept
{
    return the_fabric().regions.erase(reinterpret_cast<uint64_t>(memh)) == 1
               ? UFX_OK
               : UFX_ERR_INVALID_PARAM;
}

ufx_status_t fake_md::mem_alloc(const ufx_uct_mem_params_t *params, ufx_uct_allocated_memory_t *mem)
{
    ufx_status_t status = check_host_memory(*params, false);
    if (status != UFX_OK) {
        return status;
    }
    ufx_uct_mem_params_t given = *params;
    size_t length = params->length;
    given.field_mask |= UFX_UCT_MEM_PARAM_ADDRESS;
    given.address = allocate_pages(length);
    if (given.address == nullptr) {
        return UFX_ERR_NO_MEMORY;
    }
    given.length = length;
    *mem = {.address = given.address, .length = length, .memh = nullptr};
    return mem_reg(&given, &mem->memh);
}

ufx_status_t fake_md::mem_free(const ufx_uct_allocated_memory_t *mem) noexcept
{
    ufx_status_t status = mem_dereg(mem->memh);
    free_pages(mem->address, mem->length);
    return status;
}

ufx_status_t fake_md::mkey_pack(ufx_uct_mem_h memh, void *buffer) noexcept
{
    ucs::store_le64(buffer, reinterpret_cast<uint64_t>(memh));
    return UFX_OK;
}

ufx_status_t fake_md::rkey_unpack(const void *buffer, size_t length,
                                  ufx_uct_rkey_bundle_t *rkey) noexcept
{
    if (length != rkey_len) {
        return UFX_ERR_BAD_MESSAGE;
    }
    *rkey = {.rkey = ucs::load_le64(buffer), .handle = nullptr};
    return UFX_OK;
}

void fake_md::rkey_release(const ufx_uct_rkey_bundle_t *) noexcept {}

ucs::result<ucs::owner<fake_iface>> fake_md::open_iface(const ufx_uct_iface_params_t &params)
{
    device *on = the_fabric().find(std::string_view(params.dev_name));
    if (std::string_view(params.tl_name) != md_name_ || on == nullptr) {
        return UFX_ERR_NO_DEVICE;
    }
    if (is_lost_) {
        return UFX_ERR_IO;
    }
    auto iface = ucs::make_owner<fake_iface>(*this, params, *on);
    ufx_status_t status = iface->attach();
    if (status != UFX_OK) {
        return status;
    }
    return iface;
}

} // namespace ufx::uct::fake
