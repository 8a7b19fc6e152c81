// SPDX-License-Identifier: BSD-3-Clause
// The list of the InfiniBand transports.
#ifndef UFX_UCT_IB_COMMON_TRANSPORTS_H
#define UFX_UCT_IB_COMMON_TRANSPORTS_H

#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct_ops.h>

#include <span>

namespace ufx::uct::ib {

class device;
class md;

inline void close_iface(ufx_uct_iface_h iface) noexcept
{
    iface->ops->close(iface);
}

using iface_owner = ucs::c_owner<ufx_uct_iface, close_iface>;

struct transport {
    const char *name;
    bool (*serves)(const device &on) noexcept;
    ucs::result<iface_owner> (*open)(md &domain, const ufx_uct_iface_params_t &params);
};

extern const transport rc_mlx5;
extern const transport rc_verbs;

// Best first. Defined by the module that has them.
extern const std::span<const transport *const> transports;

} // namespace ufx::uct::ib

#endif
