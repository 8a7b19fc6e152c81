// SPDX-License-Identifier: BSD-3-Clause
// Memory domain and component of the self transport: all memory of this process, without keys.
#include "self.h"

#include "uct/base/builtin.h"
#include "uct/base/config.h"

namespace ufx::uct {

namespace {

constexpr std::string_view config_prefix = "SELF_";

constexpr ucs::config_option<self_config> config_options[] = {
    ucs::option<&self_config::seg_size>("SEG_SIZE", "8kb",
                                        "Longest active message, bcopy or zcopy, in bytes.")
        .range(64, 1 << 20),
    ucs::option<&self_config::tx_queue>(
        "TX_QUEUE", "256", "Operations that an endpoint holds until progress runs them.")
        .range(2, 65536),
};

constexpr ucs::config_table<self_config> table{"self", "SELF_", config_options};

constexpr char tl_name[] = "self";
constexpr char dev_name[] = "memory";

} // namespace

const ufx_uct_component_t self_component = make_component<self_md>("self");

self_md::self_md() : md_base(self_component) {}

ufx_status_t self_md::query_md_resources(ufx_uct_md_resource_t *resources, size_t *count)
{
    ufx_uct_md_resource_t only{};
    set_name(only.md_name, tl_name);
    return give_list<ufx_uct_md_resource_t>({&only, 1}, resources, count);
}

ucs::result<ucs::owner<self_md>> self_md::open(const char *md_name,
                                               const ufx_uct_md_params_t &params)
{
    if (md_name == nullptr || std::string_view(md_name) != tl_name) {
        return UFX_ERR_NO_DEVICE;
    }
    const auto settings =
        load_config(table, config_prefix, config_entries(params, UFX_UCT_MD_PARAM_CONFIG));
    if (!settings) { // it has none, but refuses what an interface would refuse
        return settings.error();
    }
    return ucs::make_owner<self_md>();
}

const ufx_uct_config_row_t *self_md::config_rows(size_t *count) noexcept
{
    static const config_row_list rows(table, config_prefix);
    return rows.give(count);
}

ufx_status_t self_md::query(ufx_uct_md_attr_t *attr) noexcept
{
    *attr = {};
    attr->flags = UFX_UCT_MD_FLAG_REG | UFX_UCT_MD_FLAG_ALLOC;
    attr->max_reg = SIZE_MAX;
    attr->reg_mem_types = 1u << UFX_UCT_MEMORY_TYPE_HOST;
    attr->access_flags = UFX_UCT_MEM_ACCESS_ALL;
    return UFX_OK;
}

ufx_status_t self_md::query_resources(ufx_uct_resource_t *resources, size_t *count) noexcept
{
    ufx_uct_resource_t only{};
    set_name(only.tl_name, tl_name);
    set_name(only.dev_name, dev_name);
    only.dev_type = UFX_UCT_DEVICE_SELF;
    only.numa_node = -1;
    return give_list<ufx_uct_resource_t>({&only, 1}, resources, count);
}

// Nothing has to be done: the handle only says that it was asked for.
ufx_status_t self_md::mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh) noexcept
{
    ufx_status_t status = check_host_memory(*params, true);
    if (status == UFX_OK) {
        *memh = params->address;
    }
    return status;
}

ufx_status_t self_md::mem_dereg(ufx_uct_mem_h memh) noexcept
{
    return memh == nullptr ? UFX_ERR_INVALID_PARAM : UFX_OK;
}

ufx_status_t self_md::mem_alloc(const ufx_uct_mem_params_t *params,
                                ufx_uct_allocated_memory_t *mem) noexcept
{
    ufx_status_t status = check_host_memory(*params, false);
    if (status != UFX_OK) {
        return status;
    }
    size_t length = params->length;
    void *address = allocate_pages(length);
    if (address == nullptr) {
        return UFX_ERR_NO_MEMORY;
    }
    *mem = {.address = address, .length = length, .memh = address};
    return UFX_OK;
}

ufx_status_t self_md::mem_free(const ufx_uct_allocated_memory_t *mem) noexcept
{
    free_pages(mem->address, mem->length);
    return UFX_OK;
}

ufx_status_t self_md::mkey_pack(ufx_uct_mem_h memh, void *) noexcept
{
    return memh == nullptr ? UFX_ERR_INVALID_PARAM : UFX_OK; // rkey_packed_size is 0
}

ufx_status_t self_md::rkey_unpack(const void *, size_t length, ufx_uct_rkey_bundle_t *rkey) noexcept
{
    if (length != 0) {
        return UFX_ERR_BAD_MESSAGE;
    }
    *rkey = {.rkey = 0, .handle = nullptr};
    return UFX_OK;
}

void self_md::rkey_release(const ufx_uct_rkey_bundle_t *) noexcept {}

ucs::result<ucs::owner<self_iface>> self_md::open_iface(const ufx_uct_iface_params_t &params)
{
    if (std::string_view(params.tl_name) != tl_name ||
        std::string_view(params.dev_name) != dev_name) {
        return UFX_ERR_NO_DEVICE;
    }
    auto config =
        load_config(table, config_prefix, config_entries(params, UFX_UCT_IFACE_PARAM_CONFIG));
    if (!config) {
        return config.error();
    }
    auto iface = ucs::make_owner<self_iface>(params, *config);
    ufx_status_t status = iface->attach();
    if (status != UFX_OK) {
        return status;
    }
    return iface;
}

} // namespace ufx::uct
