// SPDX-License-Identifier: BSD-3-Clause
// rc_verbs, as the list of transports sees it.
#ifndef UFX_UCT_IB_VERBS_RC_VERBS_H
#define UFX_UCT_IB_VERBS_RC_VERBS_H

#include <ufx/uct_types.h>

namespace ufx::uct::ib {

class device;
class md;

[[nodiscard]] bool serves_rc_verbs(const device &on) noexcept;
[[nodiscard]] ufx_status_t open_rc_verbs(md &domain, const ufx_uct_iface_params_t &params,
                                         ufx_uct_iface_h *iface);

} // namespace ufx::uct::ib

#endif
