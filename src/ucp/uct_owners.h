// SPDX-License-Identifier: BSD-3-Clause
// Owners of uct objects.
#ifndef UFX_UCP_UCT_OWNERS_H
#define UFX_UCP_UCT_OWNERS_H

#include <ufx/uct.h>

#include <memory>

namespace ufx::ucp {

struct close_uct {
    void operator()(ufx_uct_md *md) const noexcept { ufx_uct_md_close(md); }
    void operator()(ufx_uct_iface *iface) const noexcept { ufx_uct_iface_close(iface); }
};
using md_owner = std::unique_ptr<ufx_uct_md, close_uct>;
using iface_owner = std::unique_ptr<ufx_uct_iface, close_uct>;

} // namespace ufx::ucp

#endif
