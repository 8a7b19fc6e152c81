// SPDX-License-Identifier: BSD-3-Clause
// The state of a worker: rails, peers with the last transitions of each rail, eps, lanes, counters.
#include "ucp/dump.h"

#include "ucp/control_path.h"
#include "ucp/dump_writer.h"
#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/silence.h"
#include "ucp/worker.h"

#include <algorithm>

namespace ufx::ucp {

namespace {

unsigned rank(core::rail_state s)
{
    switch (s) {
    case core::rail_state::UP:
        return 0;
    case core::rail_state::SUSPECT:
        return 1;
    case core::rail_state::PROBING:
        return 2;
    case core::rail_state::DRAINING:
        return 3;
    default:
        return 4;
    }
}

// Calls `use` with the rail that a port has to each living peer.
template <class F>
void for_each_rail(const worker &w, unsigned index, F &&use)
{
    for (const auto &p : w.peers()) {
        for (const core::rail_id id : p->machine().rail_ids()) {
            const core::rail *r = p->machine().find_rail(id);
            if (!p->is_dead() && p->local_index(id) == index && !p->is_crossed(id)) {
                use(*r);
            }
        }
    }
}

constexpr unsigned shown_operations = 32; // of a lane; there may be thousands

void write_operations(dump_writer &out, const lane &l)
{
    unsigned count = 0;
    out.begin_list("operations");
    l.owner()->tx.each_posted(l.ref(), [&](const fragment &f) {
        if (++count > shown_operations) {
            return;
        }
        out.begin_object();
        out.field("kind", core::name_of(f.kind));
        if (f.kind == core::op_kind::AM) {
            out.field("number", f.number);
        } else {
            out.field("bytes", f.part.length - f.from);
            out.hex("remote", f.part.remote + f.from);
        }
        out.end_object();
    });
    out.end_list();
}

// What is posted on a rail, by endpoint, and who holds it up.
void write_posted(dump_writer &out, const worker &w, const rail &r)
{
    out.begin_list("posted_by");
    for (const lane *l : r.lanes()) {
        if (l->owner() == nullptr || !l->has_outstanding()) {
            continue;
        }
        out.begin_object();
        out.hex("ep", l->owner()->id());
        out.field("queue", queue_name(*l));
        out.field("outstanding", l->outstanding);
        out.field("outstanding_bytes", l->outstanding_bytes);
        out.field("standing_ns", standing_ns(*l, w.now()));
        out.field("held_up_by", name_of(holder_of(w, *l)));
        write_operations(out, *l);
        out.end_object();
    }
    out.end_list();
}

void write_rail(dump_writer &out, const worker &w, const rail &r)
{
    const ufx_ucp_rail_attr_t a = describe_rail(w, r);
    out.begin_object();
    out.field("name", a.name);
    out.field("transport", a.transport);
    out.field("index", a.index);
    out.field("state", core::name_of(static_cast<core::rail_state>(a.state)));
    out.field("cause", a.cause);
    out.field("drained", a.drained != 0);
    out.field("peers", a.peers);
    out.field("port_active", r.port_active());
    out.field("bandwidth_mb", static_cast<std::uint64_t>(a.bandwidth / 1e6));
    out.field("tx_bytes", a.tx_bytes);
    out.field("rx_bytes", a.rx_bytes);
    out.field("posted", a.posted);
    out.field("completed", a.completed);
    out.field("outstanding", a.outstanding);
    out.field("failures", a.failures);
    out.field("recoveries", a.recoveries);
    write_posted(out, w, r);
    out.end_object();
}

void write_transitions(dump_writer &out, const core::transitions &history)
{
    out.begin_list("transitions");
    for (unsigned i = 0; i < history.size(); ++i) {
        out.begin_object();
        out.field("time_ns", history[i].at);
        out.field("from", core::name_of(history[i].from));
        out.field("to", core::name_of(history[i].to));
        out.field("cause", core::name_of(history[i].why));
        out.end_object();
    }
    out.end_list();
}

void write_peer(dump_writer &out, worker &w, const peer &p)
{
    out.begin_object();
    out.hex("uuid", p.uuid());
    out.field("dead", p.is_dead());
    out.field("control_connections", w.control().open_connections(p.uuid()));
    out.field("seal_records", p.machine().book().records().size());
    out.begin_list("rails");
    for (const core::rail_id id : p.machine().rail_ids()) {
        const core::rail &r = *p.machine().find_rail(id);
        out.begin_object();
        out.field("local", p.local_index(id));
        out.field("remote", p.remote_index(id));
        out.field("state", core::name_of(r.state()));
        out.field("cause", core::name_of(cause_of(r)));
        out.field("drained", r.is_drained());
        out.field("penalty_percent", r.penalty_percent(w.now(), p.core_cfg()));
        write_transitions(out, r.history());
        out.end_object();
    }
    out.end_list();
    out.end_object();
}

const char *state_name(ufx_ucp_ep_state_t state)
{
    static constexpr const char *names[] = {"CONNECTING", "CONNECTED", "CLOSING", "FAILED"};
    return names[state];
}

void write_lane(dump_writer &out, const ep &e, const lane &l)
{
    const core::ep *machine = e.failover();
    const core::lane_slot *slot = machine != nullptr ? machine->lane(l.ref().rail) : nullptr;
    out.begin_object();
    out.field("rail", l.port().name());
    out.field("epoch", l.ref().epoch);
    out.field("state", slot != nullptr && slot->epoch() == l.ref().epoch
                           ? core::name_of(slot->state())
                           : "GONE");
    out.field("open", l.is_open());
    out.field("posted", l.posted);
    out.field("outstanding", l.outstanding);
    out.field("outstanding_bytes", l.outstanding_bytes);
    out.end_object();
}

void write_ep(dump_writer &out, const ep &e)
{
    out.begin_object();
    out.hex("id", e.id());
    out.field("name", e.name());
    out.field("state", state_name(e.state()));
    out.hex("peer", e.has_peer() ? e.remote().uuid() : 0);
    out.field("queued", e.tx.queued());
    if (const core::ep *machine = e.failover()) {
        out.field("frozen", machine->frozen().size());
        out.field("am_uncovered", machine->tx().entries().size());
        out.field("am_sent", machine->tx().next_number());
        out.field("am_received", machine->rx().window().next());
        out.field("am_held_bytes", machine->rx().held_bytes());
    }
    out.begin_list("lanes");
    for (const lane *l : e.lanes()) {
        write_lane(out, e, *l);
    }
    out.end_list();
    out.end_object();
}

void write_failover(dump_writer &out, const ufx_ucp_failover_stats_t &s)
{
    out.begin_object("failover");
    out.field("switches", s.switches);
    out.field("frozen", s.frozen);
    out.field("landed", s.landed);
    out.field("partial", s.partial);
    out.field("replayed", s.replayed);
    out.field("detect_ns", s.detect_ns);
    out.field("seal_ns", s.seal_ns);
    out.field("replay_ns", s.replay_ns);
    out.field("resume_ns", s.resume_ns);
    out.end_object();
}

} // namespace

core::cause cause_of(const core::rail &r)
{
    const core::transitions &history = r.history();
    for (unsigned i = history.size(); r.why() == core::cause::DRAINED && i-- > 0;) {
        if (history[i].to == core::rail_state::DRAINING) {
            return history[i].why;
        }
    }
    return r.why();
}

ufx_ucp_rail_attr_t describe_rail(const worker &w, const rail &r)
{
    ufx_ucp_rail_attr_t a{};
    r.name().copy(a.name, sizeof(a.name) - 1);
    r.transport().copy(a.transport, sizeof(a.transport) - 1);
    a.index = r.index();
    const core::rail *worst = nullptr;
    a.drained = r.is_drained() ? 1 : 0;
    for_each_rail(w, r.index(), [&](const core::rail &one) {
        worst = worst == nullptr || rank(one.state()) > rank(worst->state()) ? &one : worst;
        a.drained |= one.is_drained() ? 1u : 0u;
        ++a.peers;
    });
    const core::rail_state alone = r.is_drained() ? core::rail_state::DOWN : core::rail_state::UP;
    a.state = static_cast<ufx_ucp_rail_state_t>(worst != nullptr ? worst->state() : alone);
    a.cause = worst != nullptr ? core::name_of(cause_of(*worst))
              : r.is_drained() ? core::name_of(core::cause::ADMIN)
                               : "";
    a.bandwidth = r.attr().bandwidth;
    a.tx_bytes = r.count.tx_bytes;
    a.rx_bytes = r.count.rx_bytes;
    a.posted = r.count.posted;
    a.completed = r.count.completed;
    for (const lane *l : r.lanes()) {
        a.outstanding += l->outstanding;
    }
    if (r.index() == 0) { // what waits has no rail yet: shown once
        for (const auto &e : w.eps()) {
            a.pending += e->tx.queued();
        }
    }
    a.failures = r.count.failures;
    a.recoveries = r.count.recoveries;
    return a;
}

std::string dump_worker(worker &w, ufx_ucp_dump_format_t format)
{
    dump_writer out(format);
    out.hex("worker", w.uuid());
    out.field("name", w.name());
    out.field("not_polled_ns", w.now() - std::min(w.now(), w.last_turn()));
    out.begin_list("rails");
    for (const auto &r : w.rails()) {
        write_rail(out, w, *r);
    }
    out.end_list();
    write_failover(out, w.stats.values());
    out.begin_list("peers");
    for (const auto &p : w.peers()) {
        write_peer(out, w, *p);
    }
    out.end_list();
    out.begin_list("eps");
    for (const auto &e : w.eps()) {
        write_ep(out, *e);
    }
    out.end_list();
    return out.take();
}

} // namespace ufx::ucp
