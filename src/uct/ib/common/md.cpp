// SPDX-License-Identifier: BSD-3-Clause
// Registration, keys, and the list of ports.
#include "md.h"

#include "async_monitor.h"
#include "config.h"

#include "ucs/bytes.h"
#include "ucs/entry.h"
#include "ucs/log.h"
#include "ucs/topology.h"
#include "uct/base/config.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

namespace ufx::uct::ib {

namespace {

constexpr size_t packed_key_size = 4;
constexpr uint64_t local_access = UFX_UCT_MEM_ACCESS_LOCAL_READ | UFX_UCT_MEM_ACCESS_LOCAL_WRITE;
constexpr size_t max_registration = size_t{1} << 40;

int verbs_access(uint64_t flags)
{
    int access = 0;
    access |= (flags & UFX_UCT_MEM_ACCESS_LOCAL_WRITE) != 0 ? IBV_ACCESS_LOCAL_WRITE : 0;
    access |= (flags & UFX_UCT_MEM_ACCESS_REMOTE_PUT) != 0
                  ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE
                  : 0;
    access |= (flags & UFX_UCT_MEM_ACCESS_REMOTE_GET) != 0 ? IBV_ACCESS_REMOTE_READ : 0;
    access |= (flags & UFX_UCT_MEM_ACCESS_REMOTE_ATOMIC) != 0
                  ? IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE
                  : 0;
    return access;
}

ufx_status_t registration_status(int error)
{
    return error == ENOMEM ? UFX_ERR_NO_MEMORY : error == EIO ? UFX_ERR_IO : UFX_ERR_INVALID_PARAM;
}

} // namespace

constinit const ufx_uct_component_t ib_component = make_component<md>("ib");

md::md(const md_config &config, ucs::owner<device> opened, pd_owner pd) noexcept
    : md_base(ib_component), config_(config), device_(std::move(opened)), pd_(std::move(pd))
{
}

md::~md() = default;

ufx_status_t md::query_md_resources(ufx_uct_md_resource_t *resources, size_t *count)
{
    std::vector<ufx_uct_md_resource_t> all;
    for (const std::string &name : device_names()) {
        set_name(all.emplace_back().md_name, name);
    }
    return give_list(std::span<const ufx_uct_md_resource_t>(all), resources, count);
}

ucs::result<ucs::owner<md>> md::open(const char *md_name, const ufx_uct_md_params_t &params)
{
    if (md_name == nullptr) {
        return UFX_ERR_NO_DEVICE;
    }
    const auto config = read_md_config(config_entries(params, UFX_UCT_MD_PARAM_CONFIG));
    if (!config) {
        return config.error();
    }
    auto opened = device::open(md_name);
    if (!opened) {
        return opened.error();
    }
    pd_owner pd(ibv_alloc_pd((*opened)->context()));
    if (pd == nullptr) {
        ufx_warn("%s: no protection domain: %s", md_name, std::strerror(errno));
        return UFX_ERR_IO;
    }
    auto made = ucs::make_owner<md>(*config, *std::move(opened), std::move(pd));
    auto monitor = async_monitor::start(
        made->dev().context(), config->event_thread,
        [](void *arg) noexcept { static_cast<md *>(arg)->drop_unmapped(); }, made.get());
    if (!monitor) {
        return monitor.error();
    }
    made->monitor_ = *std::move(monitor);
    return made;
}

const ufx_uct_config_row_t *md::config_rows(size_t *count) noexcept
{
    return ib::config_rows(count);
}

ucs::result<iface_owner> md::open_iface(const ufx_uct_iface_params_t &params)
{
    for (const transport *each : transports) {
        if (std::strcmp(params.tl_name, each->name) == 0 && each->serves(*device_)) {
            return each->open(*this, params);
        }
    }
    return UFX_ERR_NO_DEVICE;
}

ufx_status_t md::query(ufx_uct_md_attr_t *attr) noexcept
{
    *attr = {};
    attr->flags = UFX_UCT_MD_FLAG_REG | UFX_UCT_MD_FLAG_ALLOC | UFX_UCT_MD_FLAG_NEED_MEMH |
                  UFX_UCT_MD_FLAG_NEED_RKEY | UFX_UCT_MD_FLAG_INVALIDATE | UFX_UCT_MD_FLAG_CACHE;
    attr->max_reg = max_registration;
    attr->rkey_packed_size = packed_key_size;
    attr->reg_mem_types = 1u << UFX_UCT_MEMORY_TYPE_HOST;
    attr->access_flags = UFX_UCT_MEM_ACCESS_ALL;
    return UFX_OK;
}

ufx_status_t md::query_resources(ufx_uct_resource_t *resources, size_t *count)
{
    std::vector<ufx_uct_resource_t> all;
    for (uint8_t port = 1; port <= device_->attr().phys_port_cnt; port++) {
        for (const transport *each : transports) {
            if (!each->serves(*device_)) {
                continue;
            }
            ufx_uct_resource_t &entry = all.emplace_back();
            set_name(entry.tl_name, each->name);
            set_name(entry.dev_name, device_->name() + ":" + std::to_string(port));
            entry.dev_type = UFX_UCT_DEVICE_NET;
            entry.numa_node = device_->numa_node();
        }
    }
    return give_list(std::span<const ufx_uct_resource_t>(all), resources, count);
}

ufx_status_t md::query_netdevs(const char *dev_name, ufx_uct_netdev_t *netdevs, size_t *count)
{
    const port_name wanted = parse_port_name(dev_name);
    if (wanted.device != device_->name() || wanted.port == 0) {
        return UFX_ERR_NO_DEVICE;
    }
    std::vector<ufx_uct_netdev_t> all;
    for (const std::string &name : device_->netdevs(wanted.port)) {
        set_name(all.emplace_back().name, name);
    }
    return give_list(std::span<const ufx_uct_netdev_t>(all), netdevs, count);
}

mr_owner md::register_memory(void *address, size_t length, int access) const noexcept
{
    return mr_owner(ibv_reg_mr(pd_.get(), address, length, access));
}

// ---- Registration ----------------------------------------------------------------------------

void md::start_cache() noexcept
{
    using cache = ucs::registration_cache;
    const cache::device device{
        this,
        [](void *arg, void *address, size_t length, uint64_t flags,
           cache::entry &in) noexcept -> ucs::result<void *> {
            const auto made = static_cast<md *>(arg)->enter(address, length, flags, &in);
            return made ? ucs::result<void *>(*made) : ucs::result<void *>(made.error());
        },
        [](void *, void *handle) noexcept { delete static_cast<registered *>(handle); }};
    const auto status = ucs::guard([&]() -> ufx_status_t {
        auto made = cache::create(device, {config_.cache_entries, config_.cache_bytes});
        if (made) {
            cache_ = *std::move(made);
        }
        return made.status();
    });
    if (status != UFX_OK) {
        ufx_info("%s: registrations are not kept: %s", device_->name().c_str(),
                 status == UFX_ERR_UNSUPPORTED ? "the kernel allows no userfaultfd"
                                               : ufx_ucs_status_name(status));
    }
    cache_in_use_.store(cache_.get(), std::memory_order_release);
}

// From the monitor's thread: memory that is unmapped is to go back to the system, though nobody
// registers anything.
void md::drop_unmapped() noexcept
{
    if (auto *cache = cache_in_use_.load(std::memory_order_acquire); cache != nullptr) {
        cache->collect();
    }
}

// NO_MEMORY: of what the device or the process may register, too much is.
ucs::result<registered *> md::enter(void *address, size_t length, uint64_t flags,
                                    ucs::registration_cache::entry *in) noexcept
{
    ucs::owner<registered> made(new (std::nothrow) registered{nullptr, in});
    if (made == nullptr) {
        return UFX_ERR_NO_MEMORY;
    }
    made->mr = register_memory(address, length, verbs_access(flags));
    if (made->mr == nullptr) {
        return say_refused(errno, address, length);
    }
    made->lkey = made->mr->lkey;
    return made.release();
}

ufx_status_t md::say_refused(int error, const void *address, size_t length) noexcept
{
    auto *cache = cache_in_use_.load(std::memory_order_acquire);
    const bool may_succeed = error == ENOMEM && cache != nullptr && cache->size() != 0;
    const bool is_said = error == EIO && is_lost_.exchange(true, std::memory_order_relaxed);
    if (!may_succeed && !is_said) {
        ufx_warn("%s: %zu bytes at %p cannot be registered: %s", device_->name().c_str(), length,
                 address, std::strerror(error));
    }
    return registration_status(error);
}

ufx_status_t md::mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh)
{
    const ufx_status_t status = check_host_memory(*params, true, UFX_UCT_MEM_CACHED);
    if (status != UFX_OK) {
        return status;
    }
    const uint64_t flags = access_flags(*params);
    const uint64_t access = flags & ~uint64_t{UFX_UCT_MEM_CACHED};
    if (access != flags && (access & ~local_access) != 0) {
        return UFX_ERR_INVALID_PARAM; // a key in a peer's hands cannot be shared
    }
    if (access != flags && config_.cache) {
        std::call_once(cache_made_, [this] { start_cache(); });
        if (cache_ != nullptr) {
            const auto found = cache_->get(params->address, params->length, access);
            *memh = found ? (*found)->handle() : nullptr;
            return found.status();
        }
    }
    auto *cache = cache_in_use_.load(std::memory_order_acquire);
    for (;;) {
        const auto made = enter(params->address, params->length, access, nullptr);
        if (made) {
            *memh = *made;
            return UFX_OK;
        }
        if (made.error() != UFX_ERR_NO_MEMORY || cache == nullptr || !cache->evict()) {
            return made.error();
        }
    }
}

ufx_status_t md::mem_dereg(ufx_uct_mem_h memh) noexcept
{
    if (memh == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    auto *one = static_cast<registered *>(memh);
    if (one->cached != nullptr) {
        cache_->put(*one->cached);
        return UFX_OK;
    }
    const bool ended = ibv_dereg_mr(one->mr.release()) == 0;
    delete one;
    return ended ? UFX_OK : UFX_ERR_IO;
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
    static_cast<void>(ucs::prefer_node(address, length, device_->numa_node()));
    ufx_uct_mem_params_t all = *params;
    all.field_mask |= UFX_UCT_MEM_PARAM_ADDRESS;
    all.address = address;
    all.length = length;
    ufx_uct_mem_h memh = nullptr;
    if (ufx_status_t status = mem_reg(&all, &memh); status != UFX_OK) {
        free_pages(address, length);
        return status;
    }
    *mem = {address, length, memh};
    return UFX_OK;
}

ufx_status_t md::mem_free(const ufx_uct_allocated_memory_t *mem) noexcept
{
    ufx_status_t status = mem_dereg(mem->memh);
    free_pages(mem->address, mem->length);
    return status;
}

ufx_status_t md::mkey_pack(ufx_uct_mem_h memh, void *buffer) noexcept
{
    if (memh == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    ucs::store_le32(buffer, static_cast<const registered *>(memh)->mr->rkey);
    return UFX_OK;
}

ufx_status_t md::rkey_unpack(const void *buffer, size_t length,
                             ufx_uct_rkey_bundle_t *rkey) noexcept
{
    if (length != packed_key_size) {
        return UFX_ERR_BAD_MESSAGE;
    }
    *rkey = {.rkey = ucs::load_le32(buffer), .handle = nullptr};
    return UFX_OK;
}

void md::rkey_release(const ufx_uct_rkey_bundle_t *) noexcept {}

} // namespace ufx::uct::ib
