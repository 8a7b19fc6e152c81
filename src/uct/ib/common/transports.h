// SPDX-License-Identifier: BSD-3-Clause
// The list of the InfiniBand transports.
#ifndef UFX_UCT_IB_COMMON_TRANSPORTS_H
#define UFX_UCT_IB_COMMON_TRANSPORTS_H

#include <ufx/uct_types.h>

#include <span>

namespace ufx::uct::ib {

class device;
class md;

struct transport {
    const char *name;
    bool (*serves)(const device &on) noexcept;
    ufx_status_t (*open)(md &domain, const ufx_uct_iface_params_t &params, ufx_uct_iface_h *iface);
};

// Best first. Defined by the module that has them.
extern const std::span<const transport> transports;

} // namespace ufx::uct::ib

#endif
