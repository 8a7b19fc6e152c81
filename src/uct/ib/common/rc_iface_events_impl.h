// SPDX-License-Identifier: BSD-3-Clause
// What an RC iface does about events of its device and changes of its port. Included where a
// transport is instantiated.
#ifndef UFX_UCT_IB_COMMON_RC_IFACE_EVENTS_IMPL_H
#define UFX_UCT_IB_COMMON_RC_IFACE_EVENTS_IMPL_H

#include "rc_iface.h"

#include "ucs/entry.h"

namespace ufx::uct::ib {

template <class Hw>
bool rc_iface<Hw>::has_news() const noexcept
{
    return !resources_.mailbox->empty() || link_up_ != link_told_ ||
           address_ != refreshed::unchanged || !later_.empty();
}

template <class Hw>
void rc_iface<Hw>::take_events_of_eps() noexcept
{
    set_unusual();
    resources_.mailbox->drain([this](ucs::owner<async_event> event) {
        if (event->qpn != 0) {
            take_event(*event);
        } else if (ucs::guard([&] { later_.push_back(*event); }) != UFX_OK) {
            ufx_error("an event of %s is lost: no memory", md_.dev().name().c_str());
        }
    });
}

template <class Hw>
unsigned rc_iface<Hw>::take_events() noexcept
{
    unsigned count = 0;
    tell_address();
    for (const async_event &event : std::exchange(later_, {})) {
        take_event(event);
        ++count;
    }
    if (link_up_ != link_told_) {
        link_told_ = link_up_;
        this->tell_event(link_up_ ? UFX_UCT_IFACE_PORT_UP : UFX_UCT_IFACE_PORT_DOWN,
                         UFX_UCT_CAUSE_INJECTED, "set_link");
        ++count;
    }
    resources_.mailbox->acknowledge();
    count += static_cast<unsigned>(
        resources_.mailbox->drain([this](ucs::owner<async_event> event) { take_event(*event); }));
    read_changed_port();
    return count;
}

// The end of receiving is no failure: an ep that is closed waits for it.
template <class Hw>
bool rc_iface<Hw>::is_only_logged(ibv_event_type type) const noexcept
{
    switch (type) {
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return false;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        return !config_.fail_on_event;
    default:
        return !config_.async_events;
    }
}

template <class Hw>
void rc_iface<Hw>::take_event(const async_event &event) noexcept
{
    const char *text = ibv_event_type_str(event.type);
    if (is_only_logged(event.type)) {
        ufx_warn("%s: %s is ignored, as it was set", md_.dev().name().c_str(), text);
        return;
    }
    ep_type *ep = nullptr;
    switch (event.type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        ep = by_qpn_.find(event.qpn);
        if (ep != nullptr) {
            ep->broke({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_OWN_QP}, event.type, text,
                      fatal_limit_ns);
        }
        break;
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        ep = by_qpn_.find(event.qpn);
        if (ep != nullptr) {
            ep->reached_last_receive(queues_.receives_end());
        }
        break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
        if (event.object == resources_.send_cq.get() ||
            event.object == resources_.receive_cq.get() || event.object == resources_.srq.get()) {
            lose_device(text);
        }
        break;
    case IBV_EVENT_DEVICE_FATAL:
        lose_device(text);
        break;
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
        if (event.port == port_.number()) {
            take_port_event(event.type);
        }
        break;
    default:
        ufx_debug("%s: %s", md_.dev().name().c_str(), text);
    }
}

template <class Hw>
void rc_iface<Hw>::take_port_event(ibv_event_type type) noexcept
{
    const char *text = ibv_event_type_str(type);
    if (type == IBV_EVENT_PORT_ERR) {
        port_.refresh_state();
        this->tell_event(UFX_UCT_IFACE_PORT_DOWN, UFX_UCT_CAUSE_PORT_DOWN, text);
        return;
    }
    port_news_ = text;
    if (type == IBV_EVENT_PORT_ACTIVE) {
        read_changed_port();
        this->tell_event(UFX_UCT_IFACE_PORT_UP, UFX_UCT_CAUSE_NONE, text);
    }
}

// Once for any number of events: a burst of them must not hold up the other ifaces of a worker.
template <class Hw>
void rc_iface<Hw>::read_changed_port() noexcept
{
    if (const char *why = std::exchange(port_news_, nullptr); why != nullptr) {
        read_port(why);
        tell_address();
    }
}

// Reads the port again. What comes of it is told from progress.
template <class Hw>
void rc_iface<Hw>::read_port(const char *why) noexcept
{
    const bool was_stale = port_.is_stale();
    refreshed how = refreshed::failed;
    static_cast<void>(ucs::guard([&] { how = port_.refresh(); }));
    if (how == refreshed::failed) {
        md_.monitor().read_again(port_.number());
    }
    if (how == refreshed::changed || (how == refreshed::failed && !was_stale)) {
        ufx_info("%s:%u: its address %s (%s)", md_.dev().name().c_str(), port_.number(),
                 how == refreshed::failed ? "is not known any more" : "changed", why);
        address_ = how;
        set_unusual();
    }
}

template <class Hw>
void rc_iface<Hw>::tell_address() noexcept
{
    const refreshed how = std::exchange(address_, refreshed::unchanged);
    if (how != refreshed::unchanged) {
        this->tell_event(UFX_UCT_IFACE_ADDR_CHANGED,
                         how == refreshed::failed ? UFX_UCT_CAUSE_ADDR_REMOVED : UFX_UCT_CAUSE_NONE,
                         how == refreshed::failed ? "the port has no address" : "a new address");
    }
}

template <class Hw>
void rc_iface<Hw>::adopt_gid(size_t choice) noexcept
{
    port_.adopt(choice);
    address_ = refreshed::changed;
    set_unusual();
}

} // namespace ufx::uct::ib

#endif
