// SPDX-License-Identifier: BSD-3-Clause
// Registration, keys, and the list of devices.
#include "md.h"

#include "config.h"
#include "device.h"
#include "iface.h"

#include "uct/base/config.h"

#include <cstring>
#include <memory>
#include <vector>

namespace ufx::uct {

constinit const ufx_uct_component_t tcp_component = make_component<tcp::md>("tcp");

namespace tcp {

md::md() : md_base<md>(tcp_component) {}

ufx_status_t md::query_md_resources(ufx_uct_md_resource_t *resources, size_t *count)
{
    ufx_uct_md_resource_t only{};
    set_name(only.md_name, "tcp");
    return give_list(std::span<const ufx_uct_md_resource_t>(&only, 1), resources, count);
}

// It has no settings, but refuses what an interface would refuse.
ucs::result<ucs::owner<md>> md::open(const char *md_name, const ufx_uct_md_params_t &params)
{
    if (md_name == nullptr || std::strcmp(md_name, "tcp") != 0) {
        return UFX_ERR_NO_DEVICE;
    }
    const auto settings = read_config(config_entries(params, UFX_UCT_MD_PARAM_CONFIG));
    if (!settings) {
        return settings.error();
    }
    return ucs::make_owner<md>();
}

const ufx_uct_config_row_t *md::config_rows(size_t *count) noexcept
{
    return tcp::config_rows(count);
}

ucs::result<ucs::owner<iface>> md::open_iface(const ufx_uct_iface_params_t &params)
{
    if (std::strcmp(params.tl_name, "tcp") != 0) {
        return UFX_ERR_NO_DEVICE;
    }
    return iface::open(*this, params);
}

ufx_status_t md::query(ufx_uct_md_attr_t *attr) noexcept
{
    attr->flags = UFX_UCT_MD_FLAG_REG | UFX_UCT_MD_FLAG_ALLOC | UFX_UCT_MD_FLAG_NEED_RKEY |
                  UFX_UCT_MD_FLAG_INVALIDATE;
    attr->max_reg = SIZE_MAX;
    attr->rkey_packed_size = wire::key_size;
    attr->reg_mem_types = 1u << UFX_UCT_MEMORY_TYPE_HOST;
    attr->access_flags = UFX_UCT_MEM_ACCESS_ALL;
    return UFX_OK;
}

ufx_status_t md::query_resources(ufx_uct_resource_t *resources, size_t *count)
{
    ucs::result<std::vector<device>> devices = list_devices();
    if (!devices) {
        return devices.error();
    }
    std::vector<ufx_uct_resource_t> all;
    for (const device &one : *devices) {
        ufx_uct_resource_t entry{};
        set_name(entry.tl_name, "tcp");
        set_name(entry.dev_name, one.name);
        entry.dev_type = UFX_UCT_DEVICE_NET;
        entry.numa_node = numa_node(one);
        all.push_back(entry);
    }
    return give_list(std::span<const ufx_uct_resource_t>(all), resources, count);
}

ufx_status_t md::mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh)
{
    if (ufx_status_t status = check_host_memory(*params, true); status != UFX_OK) {
        return status;
    }
    *memh = regions_.add(params->address, params->length, access_flags(*params));
    return UFX_OK;
}

ufx_status_t md::mem_dereg(ufx_uct_mem_h memh) noexcept
{
    regions_.remove(static_cast<region *>(memh));
    return UFX_OK;
}

ufx_status_t md::mem_alloc(const ufx_uct_mem_params_t *params, ufx_uct_allocated_memory_t *mem)
{
    if (ufx_status_t status = check_host_memory(*params, false); status != UFX_OK) {
        return status;
    }
    size_t length = params->length;
    void *address = allocate_pages(length);
    if (address == nullptr) {
        return UFX_ERR_NO_MEMORY;
    }
    try {
        *mem = {address, length, regions_.add(address, length, access_flags(*params))};
    } catch (...) {
        free_pages(address, length);
        throw;
    }
    return UFX_OK;
}

ufx_status_t md::mem_free(const ufx_uct_allocated_memory_t *mem) noexcept
{
    regions_.remove(static_cast<region *>(mem->memh));
    free_pages(mem->address, mem->length);
    return UFX_OK;
}

ufx_status_t md::mkey_pack(ufx_uct_mem_h memh, void *buffer) noexcept
{
    wire::encode(static_cast<region *>(memh)->key, static_cast<std::byte *>(buffer));
    return UFX_OK;
}

ufx_status_t md::rkey_unpack(const void *buffer, size_t length, ufx_uct_rkey_bundle_t *rkey)
{
    ucs::byte_reader reader(buffer, length);
    wire::remote_key key = wire::decode_key(reader);
    if (!reader.at_end()) {
        return UFX_ERR_BAD_MESSAGE;
    }
    auto *made = std::make_unique<remote_region>(remote_region{key}).release();
    *rkey = {reinterpret_cast<ufx_uct_rkey_t>(made), made};
    return UFX_OK;
}

void md::rkey_release(const ufx_uct_rkey_bundle_t *rkey) noexcept
{
    std::unique_ptr<remote_region> gone(static_cast<remote_region *>(rkey->handle));
}

} // namespace tcp

} // namespace ufx::uct
