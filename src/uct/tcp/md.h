// SPDX-License-Identifier: BSD-3-Clause
// The memory domain of the tcp transport: registered memory and keys.
#ifndef UFX_UCT_TCP_MD_H
#define UFX_UCT_TCP_MD_H

#include "regions.h"

#include "uct/base/md_base.h"

#include <ufx/uct_ops.h>

namespace ufx::uct::tcp {

// An unpacked key is the address of this; the bundle owns it.
struct remote_region {
    wire::remote_key key;
};

// What goes on the wire for an rkey. Without a key it opens nothing.
[[nodiscard]] inline wire::remote_key key_of(ufx_uct_rkey_t rkey) noexcept
{
    if (rkey == 0 || rkey == UFX_UCT_INVALID_RKEY) {
        return {};
    }
    return reinterpret_cast<const remote_region *>(rkey)->key;
}

class iface;

class md : public md_base<md> {
public:
    [[nodiscard]] static ufx_status_t query_md_resources(ufx_uct_md_resource_t *resources,
                                                         size_t *count);
    [[nodiscard]] static ucs::result<ucs::owner<md>> open(const char *md_name,
                                                          const ufx_uct_md_params_t &params);
    [[nodiscard]] static const ufx_uct_config_row_t *config_rows(size_t *count) noexcept;

    [[nodiscard]] ucs::result<ucs::owner<iface>> open_iface(const ufx_uct_iface_params_t &params);

    ufx_status_t query(ufx_uct_md_attr_t *attr) noexcept;
    ufx_status_t query_resources(ufx_uct_resource_t *resources, size_t *count);
    ufx_status_t mem_reg(const ufx_uct_mem_params_t *params, ufx_uct_mem_h *memh);
    ufx_status_t mem_dereg(ufx_uct_mem_h memh) noexcept;
    ufx_status_t mem_alloc(const ufx_uct_mem_params_t *params, ufx_uct_allocated_memory_t *mem);
    ufx_status_t mem_free(const ufx_uct_allocated_memory_t *mem) noexcept;
    ufx_status_t mkey_pack(ufx_uct_mem_h memh, void *buffer) noexcept;
    ufx_status_t rkey_unpack(const void *buffer, size_t length, ufx_uct_rkey_bundle_t *rkey);
    void rkey_release(const ufx_uct_rkey_bundle_t *rkey) noexcept;

    [[nodiscard]] region_table &regions() noexcept { return regions_; }

private:
    friend struct ucs::owner_access;

    md();

    region_table regions_;
};

} // namespace ufx::uct::tcp

namespace ufx::uct {

extern const ufx_uct_component_t tcp_component;

} // namespace ufx::uct

#endif
