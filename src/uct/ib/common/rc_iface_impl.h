// SPDX-License-Identifier: BSD-3-Clause
// rc_iface. Included where a transport is instantiated.
#ifndef UFX_UCT_IB_COMMON_RC_IFACE_IMPL_H
#define UFX_UCT_IB_COMMON_RC_IFACE_IMPL_H

#include "rc_ep_impl.h"
#include "rc_iface_events_impl.h"

#include "uct/base/config.h"

namespace ufx::uct::ib {

template <class Hw>
ucs::result<ucs::owner<rc_iface<Hw>>> rc_iface<Hw>::open(md &domain,
                                                         const ufx_uct_iface_params_t &params)
{
    const port_name name = parse_port_name(params.dev_name);
    if (name.device != domain.dev().name() || name.port == 0) {
        return UFX_ERR_NO_DEVICE;
    }
    auto config = read_config(Hw::kind, config_entries(params, UFX_UCT_IFACE_PARAM_CONFIG));
    if (!config) {
        return config.error();
    }
    fit(*config, domain.dev().attr());
    auto port = rc_port::open(domain.dev(), name.port, *config);
    if (!port) {
        return port.error();
    }
    auto resources = rc_resources::create(domain, *config);
    if (!resources) {
        return resources.error();
    }
    auto queues = Hw::shared_queues::take(*resources);
    if (!queues) {
        return queues.error();
    }
    ufx_info("%s on %s: GID %s, MTU %u, %s, service level %u, traffic class %u", Hw::name,
             params.dev_name, gid_text(port->address().gid).data(), 1u << port->address().mtu_shift,
             describe(config->budget).data(), config->service_level, config->traffic_class);
    auto made = ucs::make_owner<rc_iface>(domain, params, *config, *std::move(port),
                                          *std::move(resources), *std::move(queues));
    ufx_status_t status = made->fill_receive_queue();
    if (status == UFX_OK) {
        domain.monitor().add(*made->resources_.mailbox);
        made->set_unusual(); // for what was posted before, and so that poll() may have to look
        status = made->attach();
    }
    if (status != UFX_OK) {
        return status;
    }
    return made;
}

template <class Hw>
rc_iface<Hw>::rc_iface(md &domain, const ufx_uct_iface_params_t &params, const rc_config &config,
                       rc_port &&port, rc_resources &&resources,
                       typename Hw::shared_queues &&queues)
    : base(params), md_(domain), config_(config), port_(std::move(port)),
      resources_(std::move(resources)), queues_(std::move(queues)),
      buffers_(domain, config.seg_size + sizeof(am_header),
               (params.field_mask & UFX_UCT_IFACE_PARAM_RX_HEADROOM) != 0 ? params.rx_headroom : 0),
      slots_(queues_.slots()), cq_room_(config.tx_cq), atomics_(atomics_of(domain, config))
{
    starved_.reserve(slots_.size());
}

template <class Hw>
rc_iface<Hw>::~rc_iface()
{
    md_.monitor().remove(*resources_.mailbox);
}

template <class Hw>
ufx_status_t rc_iface<Hw>::fill_receive_queue() noexcept
{
    for (uint32_t slot = 0; slot < slots_.size(); slot++) {
        slots_[slot] = buffers_.take();
        if (slots_[slot] == nullptr) {
            return UFX_ERR_NO_MEMORY;
        }
        queues_.set_buffer(slot, buffers_.start(slots_[slot]),
                           static_cast<uint32_t>(buffers_.size()), slots_[slot]->lkey);
    }
    return queues_.give_all();
}

// ---- Attributes and addresses ----------------------------------------------------------------

template <class Hw>
ufx_status_t rc_iface<Hw>::query(ufx_uct_iface_attr_t *attr) noexcept
{
    using queue = typename Hw::send_queue;
    *attr = {};
    attr->caps = this->caps() | UFX_UCT_CAP_ORDERED;
    attr->am = {.max_short = queue::max_copied - sizeof(am_header),
                .max_bcopy = config_.seg_size,
                .min_zcopy = 0,
                .max_zcopy = max_am_zcopy(),
                .max_iov = queue::max_pieces - 1,
                .max_hdr = max_user_header};
    attr->put = {.max_short = queue::max_copied,
                 .max_bcopy = config_.seg_size,
                 .min_zcopy = 0,
                 .max_zcopy = max_zcopy(),
                 .max_iov = queue::max_pieces,
                 .max_hdr = 0};
    attr->get = attr->put;
    attr->get.max_short = op_record::inline_size;
    describe_atomics(*attr);
    attr->device_addr_len = port_address::packed_size;
    attr->iface_addr_len = 0;
    attr->ep_addr_len = qp_address::packed_size;
    attr->token_len = token_len;
    attr->mtu = size_t{1} << port_.address().mtu_shift;
    attr->max_outstanding = config_.tx_queue;
    attr->latency_ns = 1000;
    attr->bandwidth = port_.state().bandwidth;
    attr->overhead_ns = 50;
    attr->port_active = link_up_ && port_.state().active ? 1 : 0;
    return UFX_OK;
}

template <class Hw>
void rc_iface<Hw>::describe_atomics(ufx_uct_iface_attr_t &attr) const noexcept
{
    const uint64_t of_4 = atomic_ops(atomics_, sizeof(uint32_t));
    const uint64_t of_8 = atomic_ops(atomics_, sizeof(uint64_t));
    attr.caps |= of_8 != 0 ? UFX_UCT_CAP_ATOMIC_DEVICE : 0;
    attr.caps &= ~(of_4 != 0 ? 0 : atomic32_caps);
    attr.caps &= ~(of_8 != 0 ? 0 : atomic64_caps);
    attr.atomic32_post_ops = of_4 & atomic_post_mask;
    attr.atomic32_fetch_ops = of_4 & atomic_fetch_mask;
    attr.atomic64_post_ops = of_8 & atomic_post_mask;
    attr.atomic64_fetch_ops = of_8 & atomic_fetch_mask;
}

template <class Hw>
atomic_level rc_iface<Hw>::atomics_of(const md &domain, const rc_config &config) noexcept
{
    if (domain.dev().attr().atomic_cap == IBV_ATOMIC_NONE) {
        return atomic_level::none;
    }
    return Hw::has_extended_atomics(domain.dev(), config.extended_atomics) ? atomic_level::extended
                                                                           : atomic_level::standard;
}

template <class Hw>
size_t rc_iface<Hw>::max_zcopy() const noexcept
{
    const size_t by_packets = size_t{max_packets_under_way} << port_.address().mtu_shift;
    return std::min<size_t>(by_packets, port_.state().max_message);
}

template <class Hw>
ufx_status_t rc_iface<Hw>::get_device_address(void *addr) noexcept
{
    read_port("asked for the address");
    if (port_.is_stale()) {
        return UFX_ERR_NO_DEVICE;
    }
    pack(port_.address(), addr);
    return UFX_OK;
}

template <class Hw>
ufx_status_t rc_iface<Hw>::get_address(void *) noexcept
{
    return UFX_OK; // iface_addr_len is 0
}

template <class Hw>
int rc_iface<Hw>::is_reachable(const void *device_addr, const void *)
{
    const auto peer = device_addr == nullptr ? std::nullopt : unpack_port(device_addr);
    return peer && port_.reaches(*peer) ? 1 : 0;
}

// ---- Wakeup ----------------------------------------------------------------------------------

template <class Hw>
ufx_status_t rc_iface<Hw>::event_fd_get(int *fd) noexcept
{
    *fd = resources_.loop->event_fd();
    return UFX_OK;
}

// What comes after the arming wakes; so all that had come before is looked for after it.
template <class Hw>
ufx_status_t rc_iface<Hw>::event_arm(unsigned) noexcept
{
    queues_.publish(); // what was given back since the last poll
    resources_.drain_channel([this](ibv_cq *cq) { queues_.count_event(cq); });
    resources_.mailbox->acknowledge();
    uint64_t look_ns = UINT64_MAX;
    for (const ep_type &ep : unsettled_) {
        look_ns = std::min(look_ns, ep.next_look_ns());
    }
    resources_.timer.set_in(look_ns == UINT64_MAX ? 0 : look_ns);
    if (queues_.arm() != UFX_OK) {
        return UFX_ERR_IO;
    }
    const bool work =
        has_news() || queues_.has_completion() || look_ns == 0 || this->must_progress();
    return work ? UFX_ERR_BUSY : UFX_OK;
}

// ---- Flush, fence, tokens, link --------------------------------------------------------------

template <class Hw>
ufx_status_t rc_iface<Hw>::flush(unsigned flags, ufx_uct_completion_t *comp)
{
    tails_signaled_ = false;
    signal_tails();
    return base::flush(flags, comp);
}

template <class Hw>
void rc_iface<Hw>::signal_tails() noexcept
{
    if (std::exchange(tails_signaled_, true)) {
        return;
    }
    set_unusual();
    for (ep_type *ep : this->eps()) {
        if (!ep->is_failed()) {
            ep->signal_tail();
        }
    }
}

template <class Hw>
ufx_status_t rc_iface<Hw>::fence() noexcept
{
    for (ep_type *ep : this->eps()) {
        static_cast<void>(ep->fence());
    }
    return UFX_OK;
}

template <class Hw>
ufx_status_t rc_iface<Hw>::query_token(const void *tx_token, size_t tx_token_length, void *rx_token,
                                       size_t *rx_token_length,
                                       ufx_uct_token_grade_t *grade) noexcept
{
    if (tx_token_length != token_len) {
        return UFX_ERR_BAD_MESSAGE;
    }
    const uint64_t tag = ucs::load_le64(tx_token);
    for (const ep_type *ep : this->eps()) {
        if (!ep->is_connected() || ep->peer_tag() != tag) {
            continue;
        }
        uint32_t psn = 0;
        *grade = ep->expected_psn(psn);
        ucs::store_le64(rx_token, psn);
        *rx_token_length = token_len;
        return *grade == UFX_UCT_GRADE_OPEN ? UFX_ERR_IO : UFX_OK;
    }
    return UFX_ERR_NO_ELEM;
}

template <class Hw>
ufx_status_t rc_iface<Hw>::set_link(int up) noexcept
{
    link_up_ = up != 0;
    set_unusual();
    if (!link_up_) {
        fail_all({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_INJECTED},
                 "the link was taken down by set_link", quiet_limit_ns);
    }
    return UFX_OK;
}

template <class Hw>
void rc_iface<Hw>::fail_all(const failure &what, const char *text, uint64_t limit_ns) noexcept
{
    for (ep_type *ep : this->eps()) {
        if (ep->is_connected()) {
            ep->broke(what, 0, text, limit_ns);
        }
    }
}

// The device, or a queue that all eps use: no completion comes any more.
template <class Hw>
void rc_iface<Hw>::lose_device(const char *text) noexcept
{
    fail_all({UFX_ERR_IO, UFX_UCT_CAUSE_DEVICE_FATAL}, text, dead_limit_ns);
    this->tell_event(UFX_UCT_IFACE_DEVICE_FATAL, UFX_UCT_CAUSE_DEVICE_FATAL, text);
}

// ---- Progress --------------------------------------------------------------------------------

template <class Hw>
unsigned rc_iface<Hw>::poll() noexcept
{
    unsigned count = 0;
    if (is_unusual() || resources_.mailbox->has_new()) [[unlikely]] {
        count += begin_unusual();
    }
    const unsigned received = queues_.poll_receives(
        config_.cq_poll, [this](uint32_t qpn, uint32_t slot, size_t length, bool good) {
            if (good) {
                receive(qpn, slot, length);
            } else {
                refuse(qpn, slot);
            }
        });
    count += received;
    const unsigned sent =
        queues_.poll_sends(config_.cq_poll, [this](uint32_t qpn, auto id, const send_error *error) {
            ep_type *ep = by_qpn_.find(qpn);
            if (ep == nullptr) [[unlikely]] {
                if (!orphans_) {
                    warn_unknown(qpn);
                }
            } else if (error == nullptr) {
                ep->sent(id);
            } else {
                ep->send_failed(id, *error);
            }
        });
    count += sent;
    if (is_unusual()) [[unlikely]] {
        end_unusual(received < config_.cq_poll && sent < config_.cq_poll);
    }
    return count;
}

template <class Hw>
unsigned rc_iface<Hw>::begin_unusual() noexcept
{
    set_unusual();
    orphans_ = false;
    tails_signaled_ = false;
    if (!md_.monitor().is_threaded()) {
        md_.monitor().look();
    }
    return has_news() ? take_events() : 0;
}

template <class Hw>
void rc_iface<Hw>::end_unusual(bool queues_empty) noexcept
{
    if (!unsettled_.empty()) {
        settle(queues_empty);
    }
    queues_.publish(); // what was given back since the last poll
    if (!orphans_ && !tails_signaled_ && !has_news() && unsettled_.empty() &&
        md_.monitor().is_threaded()) {
        this->attention_ &= static_cast<uint8_t>(~base::for_transport);
    }
}

template <class Hw>
void rc_iface<Hw>::warn_unknown(uint32_t qpn) noexcept
{
    ufx_warn("%s: a completion of queue pair 0x%06x, which is not there", md_.dev().name().c_str(),
             qpn);
}

template <class Hw>
void rc_iface<Hw>::settle(bool queues_empty) noexcept
{
    ucs::list<ep_type> again;
    while (!unsettled_.empty()) {
        ep_type &ep = *unsettled_.pop_front();
        if (ep.settle(queues_.receives_handled(), queues_empty) && !ep.linked()) {
            again.push_back(ep);
        }
    }
    while (!again.empty()) {
        unsettled_.push_back(*again.pop_front());
    }
}

template <class Hw>
void rc_iface<Hw>::receive(uint32_t qpn, uint32_t slot, size_t length) noexcept
{
    if (orphans_ && by_qpn_.find(qpn) == nullptr) [[unlikely]] {
        queues_.give(slot);
        return;
    }
    receive_buffer *buffer = slots_[slot];
    std::byte *data = buffers_.data(buffer);
    am_header header;
    std::memcpy(&header, buffers_.start(buffer), sizeof(header));
    if (length < sizeof(header) || header.id >= UFX_UCT_AM_ID_MAX || header.wants_grant != 0)
        [[unlikely]] {
        if (!take_control(qpn, header, length)) {
            queues_.give(slot);
            return;
        }
    }
    length -= sizeof(header);
    this->rx_bytes_ += length;
    if (this->ams_.call(header.id, data, length, UFX_UCT_AM_CB_DESC) == UFX_INPROGRESS)
        [[unlikely]] {
        slots_[slot] = nullptr; // the handler keeps it
        refill_slot(slot);
        return;
    }
    queues_.give(slot);
}

// The receive failed, or what came is no message of this transport.
template <class Hw>
void rc_iface<Hw>::refuse(uint32_t qpn, uint32_t slot) noexcept
{
    queues_.give(slot);
    ep_type *ep = by_qpn_.find(qpn);
    if (ep != nullptr) {
        ep->broke({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_OWN_QP}, 0, "a receive failed");
    }
}

// What only this transport reads. True: there is a message of the user as well.
template <class Hw>
bool rc_iface<Hw>::take_control(uint32_t qpn, const am_header &header, size_t length) noexcept
{
    ep_type *ep = by_qpn_.find(qpn);
    if (ep == nullptr) {
        return length >= sizeof(header) && header.id < UFX_UCT_AM_ID_MAX;
    }
    if (length >= sizeof(header) && header.id < UFX_UCT_AM_ID_MAX) {
        ep->owe_grant();
        return true;
    }
    if (length != sizeof(header) || header.id != am_header::grant_id || !ep->take_grant()) {
        ep->broke({UFX_ERR_BAD_MESSAGE, UFX_UCT_CAUSE_BAD_MESSAGE}, 0,
                  "the peer sent what is not a message");
    }
    return false;
}

// The slot goes back to the device, with another buffer since its own was kept.
template <class Hw>
void rc_iface<Hw>::refill_slot(uint32_t slot) noexcept
{
    slots_[slot] = buffers_.take();
    if (slots_[slot] == nullptr) {
        starved_.push_back(slot); // until a handler gives one back
        return;
    }
    queues_.set_buffer(slot, buffers_.start(slots_[slot]), static_cast<uint32_t>(buffers_.size()),
                       slots_[slot]->lkey);
    queues_.give(slot);
}

template <class Hw>
void rc_iface<Hw>::release_desc(void *data) noexcept
{
    buffers_.give_back(buffers_.of_data(data));
    if (!starved_.empty()) {
        const uint32_t slot = starved_.back();
        starved_.pop_back();
        refill_slot(slot);
        set_unusual();
    }
}

template <class Hw>
void rc_iface<Hw>::forget(uint32_t qpn) noexcept
{
    by_qpn_.remove(qpn);
    queues_.remove_of(qpn, [this](uint32_t slot) { queues_.give(slot); });
}

template <class Hw>
ucs::result<ucs::owner<rc_ep<Hw>>> rc_iface<Hw>::create_ep(const ufx_uct_ep_params_t &params)
{
    if ((params.field_mask & (UFX_UCT_EP_PARAM_DEVICE_ADDR | UFX_UCT_EP_PARAM_IFACE_ADDR)) != 0) {
        return UFX_ERR_UNSUPPORTED; // only connect_to_ep
    }
    return ep_type::create(*this, params);
}

} // namespace ufx::uct::ib

#endif
