// SPDX-License-Identifier: BSD-3-Clause
// An RC transport made of what reads and writes its queues (rc_iface.h). Included where one is
// defined.
#ifndef UFX_UCT_IB_COMMON_RC_TRANSPORT_H
#define UFX_UCT_IB_COMMON_RC_TRANSPORT_H

#include "rc_iface_impl.h"
#include "transports.h"

namespace ufx::uct::ib {

inline constexpr uint64_t rc_caps =
    UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_AM_BCOPY | UFX_UCT_CAP_AM_ZCOPY | UFX_UCT_CAP_PUT_SHORT |
    UFX_UCT_CAP_PUT_BCOPY | UFX_UCT_CAP_PUT_ZCOPY | UFX_UCT_CAP_GET_SHORT | UFX_UCT_CAP_GET_BCOPY |
    UFX_UCT_CAP_GET_ZCOPY | atomic32_caps | atomic64_caps | UFX_UCT_CAP_PENDING |
    UFX_UCT_CAP_FLUSH | UFX_UCT_CAP_FENCE | UFX_UCT_CAP_CHECK | UFX_UCT_CAP_CONNECT_TO_EP |
    UFX_UCT_CAP_INVALIDATE | UFX_UCT_CAP_PURGE | UFX_UCT_CAP_EVENT_FD | UFX_UCT_CAP_TOKENS |
    UFX_UCT_CAP_SET_LINK;

template <class Hw>
consteval transport rc_transport() noexcept
{
    static_assert(method_caps<rc_ep<Hw>, rc_iface<Hw>>() == rc_caps);
    return {Hw::name, Hw::serves,
            [](md &domain, const ufx_uct_iface_params_t &params) -> ucs::result<iface_owner> {
                auto opened = rc_iface<Hw>::open(domain, params);
                if (!opened) {
                    return opened.error();
                }
                return iface_owner(std::move(opened).value().release());
            }};
}

} // namespace ufx::uct::ib

#endif
