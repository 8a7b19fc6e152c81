// SPDX-License-Identifier: BSD-3-Clause
// Iface of the self transport: addresses, attributes, and the round that runs what eps posted.
#include "self.h"

#include "ucs/bytes.h"
#include "ucs/uuid.h"
#include "uct/base/atomics.h"

#include <algorithm>

namespace ufx::uct {

static_assert(method_caps<self_ep, self_iface>() ==
              (UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_AM_BCOPY | UFX_UCT_CAP_AM_ZCOPY |
               UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_PUT_BCOPY | UFX_UCT_CAP_PUT_ZCOPY |
               UFX_UCT_CAP_GET_SHORT | UFX_UCT_CAP_GET_BCOPY | UFX_UCT_CAP_GET_ZCOPY |
               UFX_UCT_CAP_ATOMIC32_POST | UFX_UCT_CAP_ATOMIC64_POST | UFX_UCT_CAP_ATOMIC32_FETCH |
               UFX_UCT_CAP_ATOMIC64_FETCH | UFX_UCT_CAP_ATOMIC32_CSWAP |
               UFX_UCT_CAP_ATOMIC64_CSWAP | UFX_UCT_CAP_PENDING | UFX_UCT_CAP_FLUSH |
               UFX_UCT_CAP_FENCE | UFX_UCT_CAP_CHECK | UFX_UCT_CAP_CONNECT_TO_IFACE |
               UFX_UCT_CAP_INVALIDATE | UFX_UCT_CAP_TOKENS | UFX_UCT_CAP_PURGE |
               UFX_UCT_CAP_SET_LINK));

namespace {

// Operations of one ep in a round, so that one busy ep does not starve the others.
constexpr unsigned round_budget = 64;

} // namespace

self_iface::self_iface(const ufx_uct_iface_params_t &params, const self_config &config)
    : iface_base(params), config_(config), address_(ucs::random_uuid()),
      gather_(new std::byte[config.seg_size + self_max_hdr])
{
}

ufx_status_t self_iface::query(ufx_uct_iface_attr_t *attr) noexcept
{
    *attr = {};
    attr->caps = caps() | UFX_UCT_CAP_COMPLETION_IS_DELIVERY | UFX_UCT_CAP_ORDERED;

    const size_t seg = config_.seg_size;
    const size_t short_ = std::min(seg, self_max_short);
    attr->am = {.max_short = short_,
                .max_bcopy = seg,
                .min_zcopy = 0,
                .max_zcopy = seg,
                .max_iov = self_max_iov,
                .max_hdr = self_max_hdr};
    attr->put = {.max_short = short_,
                 .max_bcopy = seg,
                 .min_zcopy = 0,
                 .max_zcopy = SIZE_MAX,
                 .max_iov = self_max_iov,
                 .max_hdr = 0};
    attr->get = attr->put;

    attr->atomic32_post_ops = atomic_post_mask;
    attr->atomic64_post_ops = atomic_post_mask;
    attr->atomic32_fetch_ops = atomic_fetch_mask;
    attr->atomic64_fetch_ops = atomic_fetch_mask;
    attr->iface_addr_len = addr_len;
    attr->token_len = token_len;
    attr->mtu = 1;
    attr->max_outstanding = config_.tx_queue;
    attr->bandwidth = 10e9;
    attr->overhead_ns = 10;
    attr->port_active = link_up_ ? 1 : 0;
    return UFX_OK;
}

ufx_status_t self_iface::get_device_address(void *) noexcept
{
    return UFX_OK; // device_addr_len is 0
}

ufx_status_t self_iface::get_address(void *addr) noexcept
{
    ucs::store_le64(addr, address_);
    return UFX_OK;
}

int self_iface::is_reachable(const void *, const void *iface_addr) noexcept
{
    return iface_addr != nullptr && ucs::load_le64(iface_addr) == address_ ? 1 : 0;
}

// Only this thread makes work here, so "nothing waits" stays true until it posts.
ufx_status_t self_iface::event_arm(unsigned) noexcept
{
    return active_.empty() && !must_progress() && link_up_ == link_told_ ? UFX_OK : UFX_ERR_BUSY;
}

ufx_status_t self_iface::fence() noexcept
{
    return UFX_OK; // operations of an ep run in order
}

ufx_status_t self_iface::query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                                     size_t *rx_token_length, ufx_uct_token_grade_t *grade) noexcept
{
    if (tx_token_length != token_len) {
        return UFX_ERR_BAD_MESSAGE;
    }
    const uint64_t id = ucs::load_le64(tx_token);
    for (const self_ep *ep : eps()) {
        if (ep->id() == id) {
            ucs::store_le64(rx_token, ep->ran());
            *rx_token_length = token_len;
            *grade = UFX_UCT_GRADE_EXACT;
            return UFX_OK;
        }
    }
    return UFX_ERR_NO_ELEM;
}

ufx_status_t self_iface::set_link(int up) noexcept
{
    link_up_ = up != 0;
    if (!link_up_) {
        for (self_ep *ep : eps()) {
            ep->fail_link();
        }
    }
    return UFX_OK;
}

unsigned self_iface::poll() noexcept
{
    unsigned count = 0;
    if (link_up_ != link_told_) [[unlikely]] {
        link_told_ = link_up_;
        tell_event(link_up_ ? UFX_UCT_IFACE_PORT_UP : UFX_UCT_IFACE_PORT_DOWN,
                   UFX_UCT_CAUSE_INJECTED, "set_link");
        ++count;
    }
    if (active_.empty()) {
        return count;
    }
    // Each ep that is active now gets one turn; what is left of it waits at the end.
    self_ep *last = &active_.back();
    for (bool more = true; more && !active_.empty();) {
        self_ep &ep = *active_.pop_front();
        more = &ep != last;
        count += ep.run(round_budget);
    }
    return count;
}

ucs::result<ucs::owner<self_ep>> self_iface::create_ep(const ufx_uct_ep_params_t &params)
{
    if ((params.field_mask & UFX_UCT_EP_PARAM_IFACE_ADDR) == 0) {
        return UFX_ERR_UNSUPPORTED; // there is no connect_to_ep
    }
    auto ep = ucs::make_owner<self_ep>(*this, params, next_ep_id_);
    ufx_status_t status = ep->connect_to_iface(params.device_addr, params.iface_addr);
    if (status != UFX_OK) {
        return status;
    }
    ++next_ep_id_;
    return ep;
}

} // namespace ufx::uct
