// SPDX-License-Identifier: BSD-3-Clause
// A peer worker: events, messages, timers, eps, rails.
#include "ucp/peer.h"

#include "ucp/control_path.h"
#include "ucp/core/resend.h"
#include "ucp/ep.h"
#include "ucp/proto.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "ucs/entry.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"

#include <algorithm>

namespace ufx::ucp {

// A message of ucp's own that is sent until it is answered.
struct peer::resent {
    resent(peer &p, core::control_msg m) : owner(p), msg(std::move(m)), timer(&on_due, this) {}
    void send()
    {
        const unsigned attempt = schedule.attempts();
        owner.home().timers().start(timer, owner.now() + schedule.next());
        const core::control_msg copy = msg;
        owner.send(copy, attempt); // the own worker answers at once, which ends this object
    }
    static void on_due(void *arg, std::uint64_t)
    {
        auto &self = *static_cast<resent *>(arg);
        self.owner.or_die([&] { self.send(); });
    }

    peer &owner;
    core::control_msg msg;
    core::resend schedule;
    ucs::timer timer;
};

peer::peer(worker &w, const worker_address &address)
    : worker_(w), address_(address), starter_(w.uuid() < address.uuid),
      cfg_(core_config(w.cfg(), w.uuid() ^ address.uuid)), core_(cfg_, starter_),
      wake_(&on_timer, this)
{
    if (address.uuid != w.uuid()) {
        add_rails();
    }
}

void peer::make_twins(peer &starter, peer &answerer, core::rail_id rail)
{
    starter.starter_ = true;
    starter.core_ = core::peer(starter.cfg_, true);
    answerer.core_ = core::peer(answerer.cfg_, false);
    starter.twin_ = &answerer;
    answerer.twin_ = &starter;
    for (peer *p : {&starter, &answerer}) {
        p->event([&](core::peer &m, core::time_ns now, core::action_list &out) {
            m.add_rail(rail, now, out);
        });
    }
}

peer::~peer()
{
    probers_.clear();
    for (const auto &[ref, l] : lanes_) {
        if (l->owner() != nullptr) {
            l->owner()->remove_lane(*l);
        }
    }
}

core::time_ns peer::now() const
{
    return worker_.now();
}

failover_stats &peer::stats()
{
    return worker_.stats;
}

void peer::add_rails()
{
    const worker_address own = worker_.make_address();
    const std::vector<port_pair> pairs =
        starter_ ? match_rails(own, address_) : match_rails(address_, own);
    for (const rail_address &rail : own.rails) {
        published_[rail.index].bytes = encode(rail);
    }
    for (const port_pair &pair : pairs) {
        matched_.push_back(rail_id_of(pair));
    }
    event([&](core::peer &m, core::time_ns now, core::action_list &out) {
        for (const core::rail_id id : matched_) {
            m.add_rail(id, now, out);
        }
    });
    for (const auto &r : worker_.rails()) {
        if (r->is_lost()) {
            port_hard(r->index(), core::cause::DEVICE_FATAL); // no lane until it is open again
        }
        if (!r->port_active()) {
            port_event(r->index(), false);
        }
        if (r->is_drained()) {
            admin(r->index(), core::admin_action::DRAIN);
        }
    }
}

namespace {

// A port that is bound to an IP interface does not reach into another subnet; of others the
// transport knows.
bool may_cross(const rail &here, const rail_address &mine, const rail_address &there)
{
    const bool has_subnet = here.is_bound() && (mine.prefix_bits != 0 || there.prefix_bits != 0);
    return mine.transport == there.transport &&
           (has_subnet ? same_subnet(mine, there) : here.reaches(there));
}

} // namespace

// Matched ports are dead, but an own one and one of the peer that were not matched may be alive.
void peer::add_crossed_rails()
{
    for (const auto &here : worker_.rails()) {
        const rail_address mine = worker_.address_of(*here);
        for (const rail_address &there : address_.rails) {
            if (!may_cross(*here, mine, there)) {
                continue;
            }
            const auto own = static_cast<std::uint8_t>(here->index());
            const core::rail_id id =
                rail_id_of(starter_ ? port_pair{own, there.index} : port_pair{there.index, own});
            if (here->port_active() && core_.find_rail(id) == nullptr && may_pair(id)) {
                event([&](core::peer &m, core::time_ns at, core::action_list &out) {
                    m.add_rail(id, at, out);
                });
            }
        }
    }
}

bool peer::is_crossed(core::rail_id id) const
{
    return !is_self() && std::find(matched_.begin(), matched_.end(), id) == matched_.end();
}

bool peer::may_pair(core::rail_id id) const
{
    const rail *here = local_port(id);
    return here != nullptr && !here->is_drained() &&
           std::any_of(address_.rails.begin(), address_.rails.end(), [&](const auto &there) {
               return there.index == remote_index(id) && there.transport == here->transport();
           });
}

// The peer wires a pair of ports that was not matched here.
void peer::learn_rail(const core::control_msg &msg)
{
    const auto *want = std::get_if<core::lane_want_msg>(&msg);
    const auto *req = std::get_if<core::lane_req_msg>(&msg);
    if (want == nullptr && req == nullptr) {
        return;
    }
    const core::rail_id id = want != nullptr ? want->lane.rail : req->lane.rail;
    if (!is_self() && core_.find_rail(id) == nullptr && may_pair(id)) {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.add_rail(id, at, out);
        });
    }
}

unsigned peer::local_index(core::rail_id id) const
{
    return starter_ ? id >> 8 : id & 0xff;
}
unsigned peer::remote_index(core::rail_id id) const
{
    return starter_ ? id & 0xff : id >> 8;
}

rail *peer::local_port(core::rail_id id) const
{
    const unsigned index = local_index(id);
    if (is_self()) {
        return index == worker_.rails().size() ? worker_.self_rail() : nullptr;
    }
    return index < worker_.rails().size() ? worker_.rails()[index].get() : nullptr;
}

// ---- Messages --------------------------------------------------------------------------------

void peer::heard()
{
    if (control_link *link = worker_.control().find_link(uuid())) {
        link->heard();
    }
}

void peer::trace_send(const core::control_msg &msg, unsigned attempt)
{
    if (std::holds_alternative<core::lane_req_msg>(msg)) {
        ucs::trace_point("lane_req_sent");
    } else if (std::holds_alternative<core::seal_msg>(msg) && attempt == 0) {
        ucs::trace_point("seal_sent");
    }
}

void peer::send(const core::control_msg &msg, unsigned attempt)
{
    ufx_trace("to %016lx: %s, attempt %u", uuid(), core::name_of(msg), attempt);
    if (twin_ != nullptr) {
        twin_->on_control(msg);
        return;
    }
    worker_.control().send(*this, msg, attempt);
    trace_send(msg, attempt);
}

void peer::send_until_answered(const question &which, core::control_msg msg)
{
    auto &slot = resents_[which];
    slot = std::make_unique<resent>(*this, std::move(msg));
    slot->send();
}

void peer::answered(const question &which)
{
    resents_.erase(which);
}

void peer::on_control(const core::control_msg &msg)
{
    ufx_trace("from %016lx: %s", uuid(), core::name_of(msg));
    if (std::holds_alternative<core::seal_msg>(msg)) {
        ucs::trace_point("peer_seal_received");
    }
    if (is_dead()) {
        return;
    }
    if (const auto *want_key = std::get_if<core::rkey_req_msg>(&msg)) {
        worker_.ctx().memory.on_rkey_req(*this, *want_key);
    } else if (const auto *key = std::get_if<core::rkey_rep_msg>(&msg)) {
        on_rkey_rep(*this, *key);
    } else if (const auto *revoke = std::get_if<core::revoke_msg>(&msg)) {
        on_revoke(*this, *revoke);
    } else if (const auto *revoked = std::get_if<core::revoke_ack_msg>(&msg)) {
        on_revoke_ack(*this, *revoked);
    } else if (const auto *moved = std::get_if<core::addr_msg>(&msg)) {
        on_addr(*moved);
    } else if (const auto *known = std::get_if<core::addr_ack_msg>(&msg)) {
        on_addr_ack(*known);
    }
    learn_rail(msg);
    event(
        [&](core::peer &m, core::time_ns at, core::action_list &out) { m.control(msg, at, out); });
}

// One open lane of each rail carries it.
void peer::send_over_lanes(std::span<const std::uint8_t> frame)
{
    ++frames_sent_;
    for (const core::rail_id id : core_.rail_ids()) {
        if (!core_.find_rail(id)->carries_lanes()) {
            continue;
        }
        const auto open = std::find_if(
            lanes_.lower_bound({0, id, 0}), lanes_.end(),
            [&](const auto &l) { return l.first.rail != id || l.second->is_open(); });
        if (open != lanes_.end() && open->first.rail == id) {
            open->second->send_control({worker_.uuid(), id, frames_sent_, 0, 0, {}}, frame);
        }
    }
}

std::span<const std::uint8_t> peer::take_part(const control_part &part)
{
    return core_.find_rail(part.rail) != nullptr ? frames_in_[part.rail].take(part)
                                                 : std::span<const std::uint8_t>();
}

// ---- Timers ----------------------------------------------------------------------------------

void peer::on_timer(void *arg, std::uint64_t now_ns)
{
    auto &self = *static_cast<peer *>(arg);
    while (const auto due = self.timers_.take_due(now_ns)) {
        self.event([&](core::peer &m, core::time_ns now, core::action_list &out) {
            m.timer(*due, now, out);
        });
    }
    self.rearm();
}

void peer::rearm()
{
    if (const auto next = timers_.next()) {
        worker_.timers().start(wake_, *next);
    } else {
        wake_.stop();
    }
}

// ---- Eps -------------------------------------------------------------------------------------

void peer::add_ep(ep &e, core::ep_id peer_ep, std::uint64_t connection)
{
    eps_.emplace(e.id(), &e);
    saw_connection(connection);
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.open_ep(e.id(), peer_ep, connection, e.mode(), at, out);
    });
}

void peer::saw_connection(std::uint64_t connection)
{
    if ((connection & listener_connection) == 0) {
        next_connection_ = std::max(next_connection_, connection + 1);
    }
}

ep *peer::find_ep(core::ep_id own) const
{
    ep *e = worker_.find_ep(own);
    return e != nullptr && e->has_peer() && &e->remote() == this ? e : nullptr;
}

void peer::close_ep(ep &e, bool is_cut)
{
    event([&](core::peer &m, core::time_ns at, core::action_list &out) {
        m.close_ep(e.id(), is_cut, at, out);
    });
}

void peer::forget_ep(ep &e)
{
    probers_.erase(std::remove_if(probers_.begin(), probers_.end(),
                                  [&](const auto &p) { return p->over().owner() == &e; }),
                   probers_.end());
    while (!e.lanes().empty()) {
        lane &last = *e.lanes().back();
        const core::lane_ref ref = last.ref();
        e.remove_lane(last);
        lanes_.erase(ref);
    }
    if (e.failover() != nullptr && e.failover()->peer_id() != 0) {
        (void)ucs::guard([&] { gone_.push_back(e.failover()->peer_id()); });
        if (gone_.size() > max_gone) {
            gone_.pop_front();
        }
    }
    core_.forget_ep(e.id());
    eps_.erase(e.id());
}

void peer::declare_dead(const char *why)
{
    if (is_dead()) {
        return;
    }
    death_ = why;
    const bool hurts = std::any_of(eps_.begin(), eps_.end(), [](const auto &e) {
        const ufx_ucp_ep_state_t state = e.second->state();
        return state == UFX_UCP_EP_CONNECTING || state == UFX_UCP_EP_CONNECTED;
    });
    if (hurts) {
        ufx_error("peer %016lx is dead: %s", uuid(), why);
    } else {
        ufx_info("peer %016lx has gone, after its eps: %s", uuid(), why);
    }
    give_up();
}

// Without the link the other side, which may be alive, meets a new peer here, that answers.
void peer::give_up()
{
    resents_.clear();
    control_link *link = worker_.control().find_link(uuid());
    if (link != nullptr && link->remote() == this) {
        link->finish();
    }
    event([](core::peer &m, core::time_ns at, core::action_list &out) { m.peer_dead(at, out); });
}

void peer::refuse_all(ufx_status_t status, ufx_ucp_refusal_t code, const std::string &text)
{
    for (const auto &[id, e] : eps_) {
        e->explain_error(status, code, text);
    }
}

// ---- Rails -----------------------------------------------------------------------------------

void peer::port_event(unsigned local, bool active)
{
    for (const auto &[ref, l] : lanes_) {
        if (active && local_index(ref.rail) == local) {
            l->mark_port_up();
        }
    }
    for_each_rail_of(local, [&](core::rail_id id) {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.rail_port(id, active, at, out);
        });
    });
}

void peer::port_hard(unsigned local, core::cause why)
{
    for_each_rail_of(local, [&](core::rail_id id) {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.rail_hard(id, why, at, out);
        });
    });
}

void peer::admin(unsigned local, core::admin_action what)
{
    for_each_rail_of(local, [&](core::rail_id id) {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.admin(id, what, at, out);
        });
    });
}

void peer::lane_progress(core::rail_id id)
{
    const core::rail *r = core_.find_rail(id);
    if (r != nullptr && r->state() == core::rail_state::SUSPECT) {
        event([&](core::peer &m, core::time_ns at, core::action_list &out) {
            m.rail_progress(id, at, out);
        });
    }
}

lane *peer::find_lane(const core::lane_ref &ref) const
{
    const auto found = lanes_.find(ref);
    return found != lanes_.end() ? found->second.get() : nullptr;
}

void peer::tick()
{
    if (core_.any_rail_up() || is_dead()) {
        none_up_since_ = 0;
    } else if (none_up_since_ == 0) {
        none_up_since_ = now();
    } else if (now() - none_up_since_ > cfg_.holdoff_ns) {
        add_crossed_rails();
    }
    for (const auto &p : probers_) {
        p->progress();
    }
    const std::vector<core::rail_id> waiting = awaiting_idle_;
    for (const core::rail_id id : waiting) {
        const bool busy = std::any_of(lanes_.begin(), lanes_.end(), [&](const auto &l) {
            return l.first.rail == id && l.second->owner() != nullptr &&
                   l.second->has_outstanding();
        });
        if (!busy) {
            std::erase(awaiting_idle_, id);
            event([&](core::peer &m, core::time_ns at, core::action_list &out) {
                m.rail_idle(id, at, out);
            });
        }
    }
}

void peer::count_purged(const core::purged_op &op)
{
    if (op.fragment.kind != core::op_kind::NOP) {
        stats().frozen();
    }
}

} // namespace ufx::ucp
