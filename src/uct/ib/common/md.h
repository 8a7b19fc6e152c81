// SPDX-License-Identifier: BSD-3-Clause
// Memory domain of one RDMA device: its context, its protection domain, registered memory.
#ifndef UFX_UCT_IB_COMMON_MD_H
#define UFX_UCT_IB_COMMON_MD_H

#include "config.h"
#include "device.h"
#include "transports.h"

#include "ucs/registration_cache.h"
#include "uct/base/md_base.h"

#include <atomic>
#include <mutex>

namespace ufx::uct::ib {

using pd_owner = ucs::c_owner<ibv_pd, ibv_dealloc_pd>;
using mr_owner = ucs::c_owner<ibv_mr, ibv_dereg_mr>;

class async_monitor;

// What a memory handle points to.
struct registered {
    mr_owner mr;
    ucs::registration_cache::entry *cached; // whose it is; nullptr: the user's alone
    uint32_t lkey = 0;                      // of mr
};

[[nodiscard]] inline uint32_t lkey_of(ufx_uct_mem_h memh) noexcept
{
    return static_cast<const registered *>(memh)->lkey;
}

class md : public md_base<md> {
public:
    static ufx_status_t query_md_resources(ufx_uct_md_resource_t *resources, size_t *count);
    static ucs::result<ucs::owner<md>> open(const char *md_name, const ufx_uct_md_params_t &params);
    static const ufx_uct_config_row_t *config_rows(size_t *count) noexcept;

    ~md();

    [[nodiscard]] ucs::result<iface_owner> open_iface(const ufx_uct_iface_params_t &params);

    ufx_status_t query(ufx_uct_md_attr_t *attr) noexcept;
    ufx_status_t query_resources(ufx_uct_resource_t *resources, size_t *count);
    ufx_status_t query_netdevs(const char *dev_name, ufx_uct_netdev_t *netdevs, size_t *count);
    ufx_status_t mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh);
    ufx_status_t mem_dereg(ufx_uct_mem_h memh) noexcept;
    ufx_status_t mem_alloc(const ufx_uct_mem_params_t *params, ufx_uct_allocated_memory_t *mem);
    ufx_status_t mem_free(const ufx_uct_allocated_memory_t *mem) noexcept;
    ufx_status_t mkey_pack(ufx_uct_mem_h memh, void *buffer) noexcept;
    ufx_status_t rkey_unpack(const void *buffer, size_t length,
                             ufx_uct_rkey_bundle_t *rkey) noexcept;
    void rkey_release(const ufx_uct_rkey_bundle_t *rkey) noexcept;

    [[nodiscard]] const device &dev() const noexcept { return *device_; }

    [[nodiscard]] ibv_pd *pd() const noexcept { return pd_.get(); }

    [[nodiscard]] async_monitor &monitor() const noexcept { return *monitor_; }

    // Memory for the transport's own use; nullptr with errno set.
    [[nodiscard]] mr_owner register_memory(void *address, size_t length, int access) const noexcept;

private:
    friend struct ucs::owner_access;

    md(const md_config &config, ucs::owner<device> opened, pd_owner pd) noexcept;

    void start_cache() noexcept;
    void drop_unmapped() noexcept;
    [[nodiscard]] ucs::result<registered *> enter(void *address, size_t length, uint64_t flags,
                                                  ucs::registration_cache::entry *in) noexcept;
    [[nodiscard]] ufx_status_t say_refused(int error, const void *address, size_t length) noexcept;

    md_config config_;
    ucs::owner<device> device_;
    pd_owner pd_;
    std::once_flag cache_made_;
    // Made when it is first asked for; stays nullptr where memory cannot be watched.
    ucs::owner<ucs::registration_cache> cache_;
    std::atomic<ucs::registration_cache *> cache_in_use_ = nullptr; // the same, for any thread
    ucs::owner<async_monitor> monitor_;                             // its thread uses what is above
    std::atomic<bool> is_lost_ = false; // a command failed by EIO: nothing works any more
};

extern const ufx_uct_component_t ib_component;

} // namespace ufx::uct::ib

#endif
