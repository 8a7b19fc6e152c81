// SPDX-License-Identifier: BSD-3-Clause
// Who stands still, since when, and what is said of it.
#include "ucp/silence.h"

#include "ucp/core/ep.h"
#include "ucp/core/peer.h"
#include "ucp/core/resend.h"
#include "ucp/dump.h"
#include "ucp/ep.h"
#include "ucp/lane.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "ucs/entry.h"

#include <algorithm>

namespace ufx::ucp {

namespace {

using core::ms_ns;

// A program that polls comes more often.
constexpr core::time_ns unpolled_ns = 100 * ms_ns;

unsigned long long to_ms(core::time_ns time)
{
    return time / ms_ns;
}

std::string others(unsigned count, const char *what)
{
    return count < 2 ? "" : " (and " + std::to_string(count - 1) + " more " + what + ")";
}

std::string rail_states(const ep &e)
{
    std::string text;
    for (const core::rail_id id : e.remote().machine().rail_ids()) {
        if (e.remote().is_crossed(id)) {
            continue;
        }
        const core::rail &one = *e.remote().machine().find_rail(id);
        const rail *port = e.remote().local_port(id);
        text += std::string(text.empty() ? "" : ", ") + (port != nullptr ? port->name() : "rail") +
                " " + core::name_of(one.state()) + " by " + core::name_of(cause_of(one));
    }
    return text.empty() ? "no rail" : text;
}

void warn_of(const rail &of, const lane &worst, unsigned count, core::time_ns now)
{
    ufx_uct_ep_attr_t posted{};
    posted.field_mask = UFX_UCT_EP_ATTR_OUTSTANDING;
    (void)ufx_uct_ep_query(worst.uct(), &posted);
    const held_up_by whom = holder_of(of.home(), worst);
    ufx_warn("%s: ep 0x%lx: %lu operations of %lu bytes stand still on %s, the oldest for at least "
             "%llu ms, held up by the %s%s",
             of.name().c_str(), worst.ref().ep, posted.outstanding_ops, posted.outstanding_bytes,
             queue_name(worst).c_str(), to_ms(standing_ns(worst, now)), name_of(whom),
             others(count, "lanes").c_str());
}

void warn_of(const ep &worst, unsigned count, core::time_ns now)
{
    ufx_warn("ep 0x%lx: %zu operations wait for a rail, since %llu ms: %s%s", worst.id(),
             worst.waiting(), to_ms(now - worst.waits_since()),
             worst.has_peer() ? rail_states(worst).c_str() : "the peer is not connected",
             others(count, "endpoints").c_str());
}

} // namespace

const char *name_of(held_up_by whom)
{
    static constexpr const char *names[] = {"nobody", "poller", "peer", "device"};
    return names[static_cast<std::size_t>(whom)];
}

core::time_ns standing_ns(const lane &l, core::time_ns now)
{
    return l.beat.had_work && now > l.beat.still_since ? now - l.beat.still_since : 0;
}

held_up_by holder_of(const worker &w, const lane &l)
{
    if (!l.has_outstanding()) {
        return held_up_by::NOBODY;
    }
    const core::time_ns now = w.now();
    if (now > w.last_turn() + unpolled_ns) {
        return held_up_by::POLLER;
    }
    if (standing_ns(l, now) <= static_cast<core::time_ns>(w.cfg().stall_min.count())) {
        return held_up_by::NOBODY;
    }
    return l.beat.is_delivered ? held_up_by::PEER : held_up_by::DEVICE;
}

std::string queue_name(const lane &l)
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_LOCAL_NAME;
    const bool known = l.uct() != nullptr && ufx_uct_ep_query(l.uct(), &attr) == UFX_OK;
    return known ? attr.name : "";
}

void lane_silence::look(const rail &of, core::time_ns now)
{
    const lane *worst = nullptr;
    unsigned count = 0;
    for (const lane *l : of.lanes()) {
        const core::time_ns standing = standing_ns(*l, now);
        if (standing < limit_ || !l->has_outstanding()) { // a lane may live on without them
            continue;
        }
        ++count;
        if (worst == nullptr || standing > standing_ns(*worst, now)) {
            worst = l;
        }
    }
    if (worst == nullptr || !rate_.allow(now)) {
        return;
    }
    // Without memory for the line there is none this time.
    (void)ucs::guard([&] { warn_of(of, *worst, count, now); });
}

void queue_silence::look(const worker &of, core::time_ns now)
{
    const ep *worst = nullptr;
    unsigned count = 0;
    for (const auto &e : of.eps()) {
        if (e->waits_since() == 0 || now < e->waits_since() + limit_) {
            continue;
        }
        ++count;
        if (worst == nullptr || e->waits_since() < worst->waits_since()) {
            worst = e.get();
        }
    }
    if (worst == nullptr || !rate_.allow(now)) {
        return;
    }
    (void)ucs::guard([&] { warn_of(*worst, count, now); });
}

} // namespace ufx::ucp
