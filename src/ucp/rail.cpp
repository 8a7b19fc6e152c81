// SPDX-License-Identifier: BSD-3-Clause
// A local port of rails: iface, events, stalls.
#include "ucp/rail.h"

#include "ucp/am_wire.h"
#include "ucp/causes.h"
#include "ucp/context.h"
#include "ucp/control_path.h"
#include "ucp/core/mutant.h"
#include "ucp/ep.h"
#include "ucp/ep_rx.h"
#include "ucp/lane.h"
#include "ucp/peer.h"
#include "ucp/rail_needs.h"
#include "ucp/rkey.h"
#include "ucp/worker.h"
#include "ucs/entry.h"
#include "ucs/log.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ufx::ucp {

namespace {

using core::mutant;
using core::mutated;

constexpr core::time_ns broken_device_pause_ns = 10'000'000'000;

ufx_status_t on_control_am(void *arg, void *data, std::size_t length, unsigned) noexcept
{
    // Without memory it is lost, and resent.
    (void)ucs::guard([&] {
        static_cast<rail *>(arg)->home().control().on_lane_part(
            {static_cast<const std::uint8_t *>(data), length});
    });
    return UFX_OK;
}

ufx_status_t on_data_am(void *arg, void *data, std::size_t length, unsigned flags) noexcept
{
    return ep_rx::on_am(*static_cast<rail *>(arg), data, length, flags);
}

} // namespace

rail::rail(worker &w, const device &dev, unsigned index)
    : worker_(w), index_(index), name_(dev.name), interface_(dev.interface),
      has_netdev_(dev.has_netdev), transport_(dev.transport), md_(dev.md),
      silence_(static_cast<core::time_ns>(w.cfg().silence_warn.count()))
{
}

ucs::result<ucs::owner<rail>> rail::create(worker &w, const device &dev, unsigned index)
{
    ucs::owner<rail> made = ucs::make_owner<rail>(w, dev, index);
    const ufx_status_t status = made->open_device();
    if (status != UFX_OK) {
        ufx_error("cannot open %s on %s: %s", dev.transport.c_str(), dev.name.c_str(),
                  ufx_ucs_status_string(status));
        return status;
    }
    return made;
}

// Also again, after the device has failed: the iface that was there is closed then.
ufx_status_t rail::open()
{
    const memory_domain &domain = worker_.ctx().domains()[md_];
    const md_ref now = domain.now();
    ufx_uct_iface_params_t params{};
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                        UFX_UCT_IFACE_PARAM_WORKER | UFX_UCT_IFACE_PARAM_ERR_HANDLER |
                        UFX_UCT_IFACE_PARAM_EVENT_CB | UFX_UCT_IFACE_PARAM_CONFIG;
    params.tl_name = transport_.c_str();
    params.dev_name = name_.c_str();
    params.worker = worker_.uct();
    params.err_handler = &on_ep_error;
    params.err_handler_arg = this;
    params.event_cb = &on_event;
    params.event_cb_arg = this;
    params.config = worker_.ctx().uct_entries().data();
    params.config_count = worker_.ctx().uct_entries().size();
    ufx_uct_iface_h opened = nullptr;
    ufx_status_t status = ufx_uct_iface_open(now->md.get(), &params, &opened);
    if (status != UFX_OK) {
        return status;
    }
    iface_owner fresh(opened);
    ufx_uct_iface_attr_t attr{};
    status = ufx_uct_iface_query(opened, &attr);
    if (status == UFX_OK) {
        status = set_handlers(opened);
    }
    if (status != UFX_OK) {
        return status;
    }
    iface_ = std::move(fresh);
    attr_ = attr;
    speed_.set_nominal(attr.bandwidth);
    probes_.open(now->md.get(), (domain.attr().flags & UFX_UCT_MD_FLAG_REG) != 0);
    const md_ref before = std::exchange(md_ref_, now);
    worker_.ctx().rail_moved(md_, before, now);
    if (before != nullptr && before != now) {
        forget_keys(before);
    }
    port_active_ = attr_.port_active != 0;
    return check_rail(name_, attr_, probe_key_size(), published_size());
}

rail::~rail()
{
    iface_.reset();
    probes_.close();
    worker_.ctx().rail_moved(md_, md_ref_, nullptr);
}

// Unless another rail of the worker is on it still.
void rail::forget_keys(const md_ref &lost) noexcept
{
    for (const auto &each : worker_.rails()) {
        if (each != nullptr && each->md_ref_ == lost) {
            return;
        }
    }
    for (const auto &each : worker_.eps()) {
        for (rkey &key : each->tx.keys) {
            key.forget(lost);
        }
    }
}

ufx_status_t rail::set_handlers(ufx_uct_iface_h iface)
{
    const ufx_status_t status =
        ufx_uct_iface_set_am_handler(iface, uct_am_control, &on_control_am, this);
    return status != UFX_OK ? status
                            : ufx_uct_iface_set_am_handler(iface, uct_am_data, &on_data_am, this);
}

std::size_t rail::probe_key_size() const
{
    const ufx_uct_md_attr_t &md = worker_.ctx().domains()[md_].attr();
    return (md.flags & UFX_UCT_MD_FLAG_REG) != 0 ? md.rkey_packed_size : 0;
}

// At most, for the device may have got an IPv6 address by then.
std::size_t rail::published_size() const
{
    rail_address longest = read_address();
    longest.control.ss_family = AF_INET6;
    return encode(longest).size();
}

rail_address rail::read_address() const
{
    rail_address a;
    a.index = static_cast<std::uint8_t>(index_);
    a.transport = transport_;
    a.device_addr.resize(attr_.device_addr_len);
    a.iface_addr.resize(attr_.iface_addr_len);
    a.mbytes_per_s = static_cast<std::uint32_t>(std::min(attr_.bandwidth / 1e6, 4e9));
    (void)ufx_uct_iface_get_device_address(iface(), a.device_addr.data());
    (void)ufx_uct_iface_get_address(iface(), a.iface_addr.data());
    return a;
}

bool rail::reaches(const rail_address &other) const
{
    return other.device_addr.size() == attr_.device_addr_len &&
           other.iface_addr.size() == attr_.iface_addr_len &&
           ufx_uct_iface_is_reachable(iface(), other.device_addr.data(), other.iface_addr.data()) !=
               0;
}

void rail::remove_lane(lane &l)
{
    if (std::erase(lanes_, &l) != 0) {
        ended(l.outstanding_bytes);
    }
}

bool rail::needs_memh() const
{
    return worker_.ctx().domains()[md_].needs_memh();
}

bool rail::has_outstanding() const
{
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [](const lane *l) { return l->beat.had_work || l->outstanding != 0; });
}

ufx_status_t rail::set_link(bool up)
{
    const ufx_status_t status = ufx_uct_iface_set_link(iface(), up ? 1 : 0);
    if (status != UFX_OK) {
        return status;
    }
    injected_down_ = !up;
    worker_.control().set_link(index_, up);
    return UFX_OK;
}

// ---- Signs -----------------------------------------------------------------------------------

ufx_status_t rail::on_ep_error(void *, ufx_uct_ep_h ep, const ufx_uct_error_t *error) noexcept
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_USER_DATA;
    if (ufx_uct_ep_query(ep, &attr) == UFX_OK && attr.user_data != nullptr) {
        static_cast<lane *>(attr.user_data)->failed(*error);
    }
    return UFX_INPROGRESS;
}

void rail::on_event(void *arg, ufx_uct_iface_h, const ufx_uct_iface_event_t *event) noexcept
{
    if (ucs::guard([&] { static_cast<rail *>(arg)->take_event(*event); }) != UFX_OK) {
        ufx_error("%s: no memory to note an event of the device",
                  static_cast<rail *>(arg)->name_.c_str());
    }
}

void rail::take_event(const ufx_uct_iface_event_t &event)
{
    if (is_lost_) {
        return; // of what is no more
    }
    switch (event.type) {
    case UFX_UCT_IFACE_PORT_DOWN:
        port_changed(false, event.text);
        break;
    case UFX_UCT_IFACE_PORT_UP:
        port_changed(true, event.text);
        break;
    case UFX_UCT_IFACE_ADDR_CHANGED:
        ufx_info("%s: address changed: %s", name_.c_str(), event.text != nullptr ? event.text : "");
        worker_.control().move_gate(index_, find_device_address(interface_).address);
        tell_peers([&](peer &p) {
            p.publish_address(index_);
            p.port_hard(index_, core::cause::ADDRESS_GONE);
        });
        query_port();
        break;
    case UFX_UCT_IFACE_DEVICE_FATAL:
        device_lost();
        break;
    }
}

void rail::device_lost()
{
    is_lost_ = true;
    next_port_poll_ = worker_.now() + static_cast<core::time_ns>(worker_.cfg().port_poll.count());
    tell_peers([&](peer &p) { p.port_hard(index_, core::cause::DEVICE_FATAL); });
    port_changed(false, "the device has failed");
}

// Also its domain, if that is dead: it may be that a queue has failed, and not the device.
ufx_status_t rail::open_device()
{
    context &home = worker_.ctx();
    const md_ref tried = home.domains()[md_].now();
    const ufx_status_t status = open();
    if (status != UFX_ERR_IO) {
        return status;
    }
    const ufx_status_t reopened = home.reopen(md_, tried);
    return reopened == UFX_OK ? open() : reopened;
}

// Once nothing is left of what was there. A device may take its time to come back.
void rail::reopen()
{
    if (!lanes_.empty()) {
        return;
    }
    const md_ref before = worker_.ctx().domains()[md_].now();
    if (open_device() != UFX_OK) {
        if (worker_.ctx().domains()[md_].now() != before) {
            // It opens, but nothing works on it; all memory was registered for that.
            next_port_poll_ = worker_.now() + broken_device_pause_ns;
        }
        return;
    }
    is_lost_ = false;
    ufx_info("%s: the device is open again", name_.c_str());
    if (injected_down_) {
        (void)ufx_uct_iface_set_link(iface(), 0);
    }
    worker_.control().move_gate(index_, find_device_address(interface_).address);
    tell_peers([&](peer &p) { p.publish_address(index_); });
    query_port();
}

template <class F>
void rail::tell_peers(F &&tell)
{
    for (const auto &p : worker_.peers()) {
        if (!p->is_dead()) {
            tell(*p);
        }
    }
}

void rail::port_changed(bool active, const char *text)
{
    if (active != port_active_) {
        ufx_info("%s: port %s%s%s", name_.c_str(), active ? "up" : "down",
                 text != nullptr ? ": " : "", text != nullptr ? text : "");
    }
    port_active_ = active;
    tell_peers([&](peer &p) { p.port_event(index_, active); });
}

void rail::query_port()
{
    ufx_uct_iface_attr_t fresh{};
    if (ufx_uct_iface_query(iface(), &fresh) != UFX_OK) {
        return;
    }
    attr_.bandwidth = fresh.bandwidth;
    speed_.set_nominal(fresh.bandwidth);
    attr_.port_active = fresh.port_active;
    port_changed(fresh.port_active != 0, nullptr);
}

void rail::poll(core::time_ns now, core::time_ns active)
{
    if (now >= next_port_poll_) {
        next_port_poll_ = now + static_cast<core::time_ns>(worker_.cfg().port_poll.count());
        if (is_lost_) {
            reopen();
        } else {
            query_port();
        }
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        check_stall(*lanes_[i], now, active);
    }
    const std::uint64_t ended = count.tx_bytes - outstanding_;
    speed_.look(active, ended - std::exchange(ended_seen_, ended),
                std::exchange(least_, outstanding_));
    silence_.look(*this, now);
}

// Active time that may pass without a sign of life.
core::time_ns rail::stall_limit(const lane &l, const ufx_uct_ep_attr_t &now) const
{
    if (mutated(mutant::STALL_WITHIN_FRAGMENT)) {
        return static_cast<core::time_ns>(worker_.cfg().fragment_time.count()) / 2;
    }
    const double rate = l.beat.bytes_per_ns > 0 ? l.beat.bytes_per_ns : attr_.bandwidth / 1e9;
    const double ahead = rate > 0 ? 4.0 * static_cast<double>(now.outstanding_bytes) / rate : 0;
    return std::max({static_cast<core::time_ns>(worker_.cfg().stall_min.count()), 4 * now.srtt_ns,
                     static_cast<core::time_ns>(std::min(ahead, 60e9))});
}

void rail::check_stall(lane &l, core::time_ns now, core::time_ns active)
{
    if (l.uct() == nullptr || l.owner() == nullptr) {
        return;
    }
    ufx_uct_ep_attr_t attr{};
    attr.field_mask =
        UFX_UCT_EP_ATTR_STATE | UFX_UCT_EP_ATTR_OUTSTANDING | UFX_UCT_EP_ATTR_PROGRESS;
    if (ufx_uct_ep_query(l.uct(), &attr) != UFX_OK) {
        return;
    }
    lane::pulse &beat = l.beat;
    if (attr.state != UFX_UCT_EP_LIVE) { // cannot stall, but what it holds is not forgotten
        beat.still_since = beat.had_work ? beat.still_since : now;
        beat.had_work = attr.outstanding_ops != 0;
        beat.is_delivered = false;
        return;
    }
    const bool moved = attr.completed_ops != beat.completed || attr.acked_bytes != beat.acked;
    if (moved) {
        const core::time_ns took = active - beat.since;
        if (beat.had_work && took > 0 && attr.acked_bytes > beat.acked) {
            const double rate =
                static_cast<double>(attr.acked_bytes - beat.acked) / static_cast<double>(took);
            beat.bytes_per_ns = beat.bytes_per_ns > 0 ? (7 * beat.bytes_per_ns + rate) / 8 : rate;
        }
        if (attr.completed_ops != beat.completed) {
            l.remote().heard(); // bytes are acked by a kernel, also for a process that stands still
        }
        beat.completed = attr.completed_ops;
        beat.acked = attr.acked_bytes;
    }
    // Nothing outstanding cannot stall; what the network has acked waits for a busy peer.
    const bool idle = attr.outstanding_ops == 0;
    const bool excused = idle ? !mutated(mutant::STALL_WHEN_IDLE)
                              : attr.network_unacked == 0 && !mutated(mutant::STALL_OF_BUSY_PEER);
    if (moved || excused || !beat.had_work) {
        beat.since = active;
        beat.seen = now;
    }
    if (moved || idle || !beat.had_work) {
        beat.still_since = now;
    }
    beat.is_delivered = attr.network_unacked == 0;
    beat.had_work = !idle || mutated(mutant::STALL_WHEN_IDLE);
    if (moved || excused) {
        beat.asked = false;
        beat.stalled = false;
        if (moved) {
            l.remote().lane_progress(l.ref().rail);
        }
        return;
    }
    const core::time_ns silence = active - beat.since;
    const core::time_ns limit = stall_limit(l, attr);
    // A device that moderates its completions is silent about the last ones until it is asked.
    if (!beat.asked && silence > limit / 2) {
        beat.asked = true;
        l.post_nop();
    }
    if (!beat.stalled && silence > limit) {
        beat.stalled = true;
        l.remote().event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.rail_soft(l.ref().rail, core::sign::STALL, core::cause::STALL, at, out);
        });
    }
}

} // namespace ufx::ucp
