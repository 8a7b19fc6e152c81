// SPDX-License-Identifier: BSD-3-Clause
// Iface of the scripted transport: valves between ifaces, and the script's hold on it.
#include "fake_impl.h"

#include "ucs/bytes.h"
#include "uct/base/atomics.h"

#include <algorithm>

namespace ufx::uct::fake {

static_assert(method_caps<fake_ep, fake_iface>() ==
              (UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_AM_BCOPY | UFX_UCT_CAP_AM_ZCOPY |
               UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_PUT_BCOPY | UFX_UCT_CAP_PUT_ZCOPY |
               UFX_UCT_CAP_GET_BCOPY | UFX_UCT_CAP_GET_ZCOPY | UFX_UCT_CAP_ATOMIC64_POST |
               UFX_UCT_CAP_ATOMIC64_FETCH | UFX_UCT_CAP_ATOMIC64_CSWAP | UFX_UCT_CAP_PENDING |
               UFX_UCT_CAP_FLUSH | UFX_UCT_CAP_FENCE | UFX_UCT_CAP_CHECK |
               UFX_UCT_CAP_CONNECT_TO_EP | UFX_UCT_CAP_INVALIDATE | UFX_UCT_CAP_TOKENS |
               UFX_UCT_CAP_PURGE | UFX_UCT_CAP_SET_LINK));

fake_iface::fake_iface(fake_md &memory, const ufx_uct_iface_params_t &params, device &on)
    : iface_base(params), md_(memory), device_(on), id_(the_fabric().next_id++)
{
    device_.ifaces.push_back(this);
}

fake_iface::~fake_iface()
{
    std::erase(device_.ifaces, this);
}

ufx_status_t fake_iface::query(ufx_uct_iface_attr_t *attr) noexcept
{
    const device_options &with = options();
    *attr = {};
    attr->caps = caps() | UFX_UCT_CAP_ORDERED |
                 (with.delivery ? uint64_t{UFX_UCT_CAP_COMPLETION_IS_DELIVERY} : 0);
    attr->caps &= ~with.without_caps;
    attr->am = {.max_short = 256,
                .max_bcopy = with.seg_size,
                .min_zcopy = 0,
                .max_zcopy = with.seg_size - with.zcopy_less,
                .max_iov = 8,
                .max_hdr = 256};
    attr->put = {.max_short = 256,
                 .max_bcopy = with.seg_size,
                 .min_zcopy = 0,
                 .max_zcopy = SIZE_MAX,
                 .max_iov = 8,
                 .max_hdr = 0};
    attr->get = attr->put;
    attr->get.max_short = 0;
    attr->atomic64_post_ops = atomic_post_mask;
    attr->atomic64_fetch_ops = atomic_fetch_mask;
    attr->device_addr_len = addr_len;
    attr->iface_addr_len = addr_len;
    attr->ep_addr_len = addr_len;
    attr->token_len = token_len;
    attr->mtu = with.mtu;
    attr->max_outstanding = with.max_outstanding;
    attr->latency_ns = 1000;
    attr->bandwidth = with.bandwidth;
    attr->port_active = port_active_ && link_up_ ? 1 : 0;
    return UFX_OK;
}

ufx_status_t fake_iface::get_device_address(void *addr) noexcept
{
    ucs::store_le64(addr, device_.id);
    return UFX_OK;
}

ufx_status_t fake_iface::get_address(void *addr) noexcept
{
    ucs::store_le64(addr, id_);
    return UFX_OK;
}

int fake_iface::is_reachable(const void *device_addr, const void *) noexcept
{
    const device *other = the_fabric().find(ucs::load_le64(device_addr));
    if (other == nullptr) {
        return 0;
    }
    const bool same = other->id == device_.id;
    const bool linked = options().network != 0 && other->options.network == options().network;
    return same || linked ? 1 : 0;
}

ufx_status_t fake_iface::event_arm(unsigned) noexcept
{
    bool busy = !packets_in_.empty() || !replies_in_.empty() || !events_.empty() ||
                (!packets_out_.empty() && data.passes()) ||
                (!replies_out_.empty() && acks.passes()) || must_progress();
    for (const fake_ep *ep : eps()) {
        busy = busy || ep->has_work();
    }
    return busy ? UFX_ERR_BUSY : UFX_OK;
}

ufx_status_t fake_iface::fence() noexcept
{
    return UFX_OK; // an ep's packets are applied in order
}

ufx_status_t fake_iface::query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                                     size_t *rx_token_length, ufx_uct_token_grade_t *grade) noexcept
{
    if (tx_token_length != token_len) {
        return UFX_ERR_BAD_MESSAGE;
    }
    if (token_grade == UFX_UCT_GRADE_OPEN) {
        *grade = UFX_UCT_GRADE_OPEN;
        return UFX_ERR_IO;
    }
    const uint64_t peer = ucs::load_le64(tx_token);
    for (const fake_ep *ep : eps()) {
        if (ep->peer() == peer) {
            ucs::store_le64(rx_token, ep->expected());
            *rx_token_length = token_len;
            *grade = token_grade;
            return UFX_OK;
        }
    }
    return UFX_ERR_NO_ELEM;
}

ufx_status_t fake_iface::set_link(int up)
{
    const bool was = link_up_;
    link_up_ = up != 0;
    if (was == link_up_) {
        return UFX_OK;
    }
    events_.push_back(
        {link_up_ ? UFX_UCT_IFACE_PORT_UP : UFX_UCT_IFACE_PORT_DOWN, UFX_UCT_CAUSE_INJECTED});
    if (!link_up_) {
        fail_eps({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_INJECTED});
        packets_out_.clear();
        replies_out_.clear();
    }
    return UFX_OK;
}

unsigned fake_iface::poll() noexcept
{
    unsigned count = 0;
    ufx_status_t status = ucs::guard([&] { count = step(); });
    if (status != UFX_OK) {
        ufx_error("fake: progress failed: %s", ufx_ucs_status_name(status));
    }
    return count;
}

unsigned fake_iface::step()
{
    unsigned count = tell_events();
    // Copies of the list: handlers may create and destroy eps.
    for (fake_ep *ep : std::vector<fake_ep *>(eps())) {
        ep->try_connect();
        ep->send_new();
        count += ep->finish_quiet();
    }
    count += pass_packets();
    for (size_t i = packets_in_.size(); i > 0 && !packets_in_.empty(); --i, ++count) {
        packet in = std::move(packets_in_.front());
        packets_in_.pop_front();
        auto found = the_fabric().eps.find(in.to);
        if (found != the_fabric().eps.end()) {
            found->second->receive(std::move(in));
        }
    }
    count += pass_replies();
    for (size_t i = replies_in_.size(); i > 0 && !replies_in_.empty(); --i, ++count) {
        reply in = std::move(replies_in_.front());
        replies_in_.pop_front();
        auto found = the_fabric().eps.find(in.to);
        if (found != the_fabric().eps.end()) {
            found->second->receive(in);
        }
    }
    return count;
}

unsigned fake_iface::tell_events()
{
    unsigned count = 0;
    while (!events_.empty()) {
        const event next = events_.front();
        events_.pop_front();
        if (next.type == UFX_UCT_IFACE_PORT_DOWN || next.type == UFX_UCT_IFACE_PORT_UP) {
            port_active_ = next.type == UFX_UCT_IFACE_PORT_UP;
        }
        tell_event(next.type, next.cause, "scripted");
        ++count;
    }
    return count;
}

unsigned fake_iface::pass_packets()
{
    unsigned count = 0;
    while (!packets_out_.empty() && data.take()) {
        packet out = std::move(packets_out_.front());
        packets_out_.pop_front();
        auto found = the_fabric().eps.find(out.to);
        if (!data.loses() && link_up_ && found != the_fabric().eps.end() &&
            found->second->iface().link_up()) {
            found->second->iface().packets_in_.push_back(std::move(out));
        }
        ++count;
    }
    return count;
}

unsigned fake_iface::pass_replies()
{
    unsigned count = 0;
    while (!replies_out_.empty() && acks.take()) {
        reply out = std::move(replies_out_.front());
        replies_out_.pop_front();
        auto found = the_fabric().eps.find(out.to);
        if (!acks.loses() && link_up_ && found != the_fabric().eps.end() &&
            found->second->iface().link_up()) {
            found->second->iface().replies_in_.push_back(std::move(out));
        }
        ++count;
    }
    return count;
}

ucs::result<ucs::owner<fake_ep>> fake_iface::create_ep(const ufx_uct_ep_params_t &params)
{
    if ((params.field_mask & UFX_UCT_EP_PARAM_IFACE_ADDR) != 0) {
        return UFX_ERR_UNSUPPORTED; // it connects by connect_to_ep only
    }
    return ucs::make_owner<fake_ep>(*this, params, the_fabric().next_id++);
}

// ---- Script
// --------------------------------------------------------------------------------------

namespace {

const fake_iface &self(const side &of) noexcept
{
    return static_cast<const fake_iface &>(of);
}

fake_iface &self(side &of) noexcept
{
    return static_cast<fake_iface &>(of);
}

} // namespace

void side::fail_eps(const error &why)
{
    for (fake_ep *ep : self(*this).eps()) {
        ep->script_error(why, "scripted");
    }
}

void side::fail_ep(ufx_uct_ep_h ep, const error &why)
{
    static_cast<fake_ep *>(ep)->script_error(why, "scripted");
}

void side::tell(ufx_uct_iface_event_type_t type, ufx_uct_error_cause_t cause)
{
    if (type == UFX_UCT_IFACE_DEVICE_FATAL) {
        self(*this).md_.is_lost_ = true;
        for (auto &[key, memory] : the_fabric().regions) {
            memory.flags = memory.owner == &self(*this).md_ ? 0 : memory.flags;
        }
    }
    self(*this).events_.push_back({type, cause});
}

ufx_uct_iface_h side::iface_handle() noexcept
{
    return &self(*this);
}

std::vector<ufx_uct_ep_h> side::ep_handles()
{
    const std::vector<fake_ep *> &all = self(*this).eps();
    return {all.begin(), all.end()};
}

size_t side::held_packets() const noexcept
{
    return self(*this).packets_out_.size();
}

size_t side::held_acks() const noexcept
{
    return self(*this).replies_out_.size();
}

} // namespace ufx::uct::fake
