// SPDX-License-Identifier: BSD-3-Clause
// Opening an iface, its attributes and addresses, tokens, and the cut of its link.
#include "iface.h"

#include "ucs/clock.h"
#include "ucs/log.h"
#include "uct/base/atomics.h"
#include "uct/base/config.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace ufx::uct::tcp {

namespace {

// Half a round trip, as an estimate for the choice between devices.
constexpr uint64_t latency_ns = 15'000;
constexpr uint64_t loopback_latency_ns = 5'000;
constexpr uint64_t overhead_ns = 1'000;

constexpr uint64_t post_caps =
    UFX_UCT_CAP_AM_SHORT | UFX_UCT_CAP_AM_BCOPY | UFX_UCT_CAP_AM_ZCOPY | UFX_UCT_CAP_PUT_SHORT |
    UFX_UCT_CAP_PUT_BCOPY | UFX_UCT_CAP_PUT_ZCOPY | UFX_UCT_CAP_GET_SHORT | UFX_UCT_CAP_GET_BCOPY |
    UFX_UCT_CAP_GET_ZCOPY | UFX_UCT_CAP_ATOMIC32_POST | UFX_UCT_CAP_ATOMIC64_POST |
    UFX_UCT_CAP_ATOMIC32_FETCH | UFX_UCT_CAP_ATOMIC64_FETCH | UFX_UCT_CAP_ATOMIC32_CSWAP |
    UFX_UCT_CAP_ATOMIC64_CSWAP;
constexpr uint64_t control_caps = UFX_UCT_CAP_PENDING | UFX_UCT_CAP_FLUSH | UFX_UCT_CAP_FENCE |
                                  UFX_UCT_CAP_CHECK | UFX_UCT_CAP_CONNECT_TO_EP |
                                  UFX_UCT_CAP_EVENT_FD | UFX_UCT_CAP_INVALIDATE |
                                  UFX_UCT_CAP_TOKENS | UFX_UCT_CAP_PURGE | UFX_UCT_CAP_SET_LINK;
static_assert(method_caps<ep, iface>() == (post_caps | control_caps));

} // namespace

ucs::result<ucs::owner<iface>> iface::open(md &memory, const ufx_uct_iface_params_t &params)
{
    ucs::result<device> local = find_device(params.dev_name);
    if (!local) {
        return local.error();
    }
    ucs::result<config> settings = read_config(config_entries(params, UFX_UCT_IFACE_PARAM_CONFIG));
    if (!settings) {
        return settings.error();
    }
    ucs::result<listener> listening =
        listen_on(*local, *settings, parse_port_range(settings->port_range));
    if (!listening) {
        return listening.error();
    }
    parts made{std::move(local).value(), std::move(settings).value(), std::move(listening).value(),
               ucs::fd(epoll_create1(EPOLL_CLOEXEC)),
               ucs::fd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))};
    if (!made.epoll || !made.timer) {
        ufx_error("tcp: %s: no event descriptor: %s", params.dev_name, std::strerror(errno));
        return UFX_ERR_IO;
    }
    auto opened = ucs::make_owner<iface>(memory, params, std::move(made));
    if (!opened->add_to_epoll(opened->listener_.socket, EPOLLIN, tag_listener) ||
        !opened->add_to_epoll(opened->timer_, EPOLLIN, tag_timer)) {
        return UFX_ERR_IO;
    }
    opened->port_ = port_watch::create(*opened);
    if (opened->port_ != nullptr) {
        epoll_event event{.events = EPOLLIN, .data = {.u64 = tag_port}};
        (void)epoll_ctl(opened->epoll_.get(), EPOLL_CTL_ADD, opened->port_->event_fd(), &event);
    }
    if (ufx_status_t status = opened->attach(); status != UFX_OK) {
        return status;
    }
    return opened;
}

iface::iface(md &memory, const ufx_uct_iface_params_t &params, parts &&made)
    : base(params), md_(memory), device_(std::move(made.local)), settings_(made.settings),
      descs_(settings_.seg_size, settings_.am_max,
             (params.field_mask & UFX_UCT_IFACE_PARAM_RX_HEADROOM) != 0 ? params.rx_headroom : 0),
      regions_here_(memory.regions()), batch_(std::make_unique<batch>()),
      epoll_(std::move(made.epoll)), timer_(std::move(made.timer)),
      listener_(std::move(made.listening)), port_told_(listener_.port),
      lobby_(*this, settings_.max_strangers)
{
}

size_t iface::receive_buffer_size() const noexcept
{
    constexpr size_t least = 16 * 1024; // an am that waits for its rest fits with its header
    return std::max(settings_.seg_size, least);
}

ufx_status_t iface::query(ufx_uct_iface_attr_t *attr) noexcept
{
    *attr = {};
    attr->caps = caps() | UFX_UCT_CAP_COMPLETION_IS_DELIVERY | UFX_UCT_CAP_ORDERED;
    size_t seg = settings_.seg_size;
    attr->am = {.max_short = seg,
                .max_bcopy = seg,
                .min_zcopy = 0,
                .max_zcopy = settings_.am_max - max_am_header,
                .max_iov = receiver::max_iov,
                .max_hdr = max_am_header};
    attr->put = {.max_short = seg,
                 .max_bcopy = seg,
                 .min_zcopy = 0,
                 .max_zcopy = wire::max_payload,
                 .max_iov = receiver::max_iov,
                 .max_hdr = 0};
    attr->get = attr->put;

    attr->atomic32_post_ops = atomic_post_mask;
    attr->atomic64_post_ops = atomic_post_mask;
    attr->atomic32_fetch_ops = atomic_fetch_mask;
    attr->atomic64_fetch_ops = atomic_fetch_mask;
    attr->device_addr_len = device_address_size;
    attr->iface_addr_len = iface_address_size;
    attr->ep_addr_len = wire::token_size;
    attr->token_len = wire::token_size;
    attr->mtu = 1;
    attr->max_outstanding = std::bit_ceil(settings_.tx_queue);
    attr->latency_ns = device_.loopback ? loopback_latency_ns : latency_ns;
    attr->bandwidth = link_bandwidth(device_);
    attr->overhead_ns = overhead_ns;
    attr->priority = 0;
    attr->port_active = link_up_ && port_active(device_) ? 1 : 0;
    return UFX_OK;
}

ufx_status_t iface::get_device_address(void *addr) noexcept
{
    encode_device_address(device_.ip, static_cast<std::byte *>(addr));
    return UFX_OK;
}

ufx_status_t iface::get_address(void *addr) noexcept
{
    encode_iface_address(listener_.port, static_cast<std::byte *>(addr));
    return UFX_OK;
}

int iface::is_reachable(const void *device_addr, const void *) noexcept
{
    auto peer = decode_device_address(std::span<const std::byte, device_address_size>(
        static_cast<const std::byte *>(device_addr), device_address_size));
    return peer && can_reach(device_.ip, *peer) ? 1 : 0;
}

ufx_status_t iface::fence() noexcept
{
    return UFX_OK; // each connection applies in order anyway
}

void iface::release_desc(void *data) noexcept
{
    descs_.give_back(descs_.of_data(data));
}

ufx_status_t iface::query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                                size_t *rx_token_length, ufx_uct_token_grade_t *grade) noexcept
{
    auto wanted = wire::decode_conn_id({static_cast<const std::byte *>(tx_token), tx_token_length});
    if (!wanted) {
        return UFX_ERR_BAD_MESSAGE;
    }
    for (const ep *one : eps()) {
        if (one->phase() != phase::idle && one->peer_id() == *wanted) {
            wire::encode(one->incoming().position(), static_cast<std::byte *>(rx_token));
            *rx_token_length = wire::token_size;
            *grade = UFX_UCT_GRADE_EXACT;
            return UFX_OK;
        }
    }
    return UFX_ERR_NO_ELEM;
}

// ---- Eps -------------------------------------------------------------------------------------

ucs::result<ucs::owner<ep>> iface::create_ep(const ufx_uct_ep_params_t &params)
{
    if ((params.field_mask & (UFX_UCT_EP_PARAM_DEVICE_ADDR | UFX_UCT_EP_PARAM_IFACE_ADDR)) != 0) {
        return UFX_ERR_UNSUPPORTED; // eps connect to eps
    }
    return std::make_unique<ep>(*this, params);
}

uint64_t iface::add(ep &made)
{
    return eps_by_id_.insert(made);
}

void iface::forget(uint64_t id) noexcept
{
    (void)eps_by_id_.erase(id);
}

// ---- Link ------------------------------------------------------------------------------------

void iface::fail_all(socket_failure failure, const char *text) noexcept
{
    for (ep *one : eps()) {
        if (one->phase() != phase::idle) {
            one->break_with(failure, 0, text);
        }
    }
}

void iface::on_port_change(ufx_uct_iface_event_type_t type, ufx_uct_error_cause_t cause,
                           const char *text) noexcept
{
    if (cause == UFX_UCT_CAUSE_ADDR_REMOVED) {
        fail_all({UFX_ERR_NET_UNREACHABLE, cause}, text);
    }
    tell_event(type, cause, text);
}

bool iface::move_to(const ip_address &ip)
{
    device fresh = device_;
    fresh.ip = ip;
    if (link_up_) {
        ucs::result<listener> again =
            listen_on(fresh, settings_, parse_port_range(settings_.port_range), listener_.port);
        if (!again || !add_to_epoll(again->socket, EPOLLIN, tag_listener)) {
            return false;
        }
        listener_ = std::move(again).value();
    }
    device_ = std::move(fresh);
    port_told_ = listener_.port;
    tell_event(UFX_UCT_IFACE_ADDR_CHANGED, UFX_UCT_CAUSE_NONE, "the interface has another address");
    return true;
}

ufx_status_t iface::set_link(int up)
{
    if (up != 0 && !link_up_) {
        // Peers know the old port, so it comes first; somebody else may have taken it meanwhile.
        ucs::result<listener> again =
            listen_on(device_, settings_, parse_port_range(settings_.port_range), listener_.port);
        if (!again) {
            return again.error();
        }
        if (!add_to_epoll(again->socket, EPOLLIN, tag_listener)) {
            return UFX_ERR_IO;
        }
        listener_ = std::move(again).value();
        link_up_ = true;
    } else if (up == 0 && link_up_) {
        link_up_ = false;
        listener_.socket.reset(); // from now on connections are refused
        lobby_.clear();
        fail_all({UFX_ERR_NET_UNREACHABLE, UFX_UCT_CAUSE_INJECTED}, "the link was cut");
    }
    armed_ = true; // the event comes from the next progress,
    set_timer();   // which this wakes
    return UFX_OK;
}

unsigned iface::tell_link() noexcept
{
    if (!link_news()) {
        return 0;
    }
    if (port_told_ != listener_.port) {
        port_told_ = listener_.port;
        tell_event(UFX_UCT_IFACE_ADDR_CHANGED, UFX_UCT_CAUSE_NONE,
                   "the old port was taken, it listens on another one");
    }
    if (link_told_ == link_up_) {
        return 1;
    }
    link_told_ = link_up_;
    tell_event(link_up_ ? UFX_UCT_IFACE_PORT_UP : UFX_UCT_IFACE_PORT_DOWN,
               link_up_ ? UFX_UCT_CAUSE_NONE : UFX_UCT_CAUSE_INJECTED,
               link_up_ ? "the link was restored" : "the link was cut");
    return 1;
}

} // namespace ufx::uct::tcp
