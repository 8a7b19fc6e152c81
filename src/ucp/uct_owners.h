// SPDX-License-Identifier: BSD-3-Clause
// Owners of uct objects.
#ifndef UFX_UCP_UCT_OWNERS_H
#define UFX_UCP_UCT_OWNERS_H

#include <ufx/uct.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace ufx::ucp {

struct close_uct {
    void operator()(ufx_uct_md *md) const noexcept { ufx_uct_md_close(md); }
    void operator()(ufx_uct_iface *iface) const noexcept { ufx_uct_iface_close(iface); }
};
using md_owner = std::unique_ptr<ufx_uct_md, close_uct>;
using iface_owner = std::unique_ptr<ufx_uct_iface, close_uct>;

// A memory domain from one opening of its device to the next; it is open until nothing is left that
// was made with it.
struct md_generation {
    md_generation(md_owner opened, std::uint32_t which) : md(std::move(opened)), number(which) {}

    const md_owner md;
    const std::uint32_t number; // counts from 1
    std::atomic<unsigned> rails = 0;
};
using md_ref = std::shared_ptr<md_generation>;

} // namespace ufx::ucp

#endif
