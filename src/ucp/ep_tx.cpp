// SPDX-License-Identifier: BSD-3-Clause
// Requests of an ep from submission to their end: queues, fences, flushes, cancel, deadlines.
#include "ucp/ep_tx.h"

#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/proto.h"
#include "ucp/request_pool.h"
#include "ucp/rkey.h"
#include "ucp/worker.h"

#include <algorithm>

namespace ufx::ucp {

namespace {

bool is_am(const request &r)
{
    return r.kind == op::AM || r.kind == op::ATOMIC;
}

} // namespace

ep_tx::~ep_tx()
{
    while (rkey *key = keys.pop_front()) {
        key->set_home(nullptr);
    }
    while (!fragments_.empty()) {
        free_fragment(fragments_.front());
    }
}

void ep_tx::wake()
{
    ep_.home().schedule(ep_);
}

void ep_tx::submit(request &r)
{
    open_.push_back(r);
    if (!r.internal) {
        r.generation = gate_.enter();
    }
    if (abandoned_ || ep_.has_said_goodbye()) {
        drop_unposted(r, abandoned_ ? end_status_ : UFX_ERR_SHUTDOWN, core::cause::NONE, true);
        return;
    }
    // Nothing overtakes what is still to be released.
    if (!r.internal && has_fence_ && (!gate_.passed(fence_at_) || !fenced_.empty())) {
        ++queued_;
        r.fence = fence_at_;
        fenced_.push_back(r);
        return;
    }
    // It is accepted: whatever happens, it has an end.
    ep_.or_fail([&] {
        if (!(is_am(r) ? post_am_at_once(r) : post_at_once(r))) {
            post_in_turn(r);
        }
    });
}

void ep_tx::post_in_turn(request &r)
{
    ++queued_;
    start(r);
    called_ = r.internal ? nullptr : &r;
    ep_.or_fail([this] { progress(); });
    called_ = nullptr;
}

void ep_tx::start(request &r)
{
    (is_am(r) ? am_queue_ : rma_queue_).push_back(r);
}

// A put or get that would overtake nothing needs no turn in a queue. False: it is not posted, or
// not all of it.
bool ep_tx::post_at_once(request &r)
{
    const core::ep *machine = ep_.failover();
    if (machine == nullptr || posting_ || r.notify != 0 || !rma_queue_.empty() ||
        !machine->frozen().empty()) {
        return false;
    }
    bool more = false;
    return post_slice(r, more) == UFX_OK && r.unposted == 0;
}

// The first turn of a list: its notification takes its place in the AM sequence.
void ep_tx::begin(request &r)
{
    if (r.kind == op::GET && r.notify != 0 && r.state.fragments_left() == r.answers) {
        r.begun = true;
        send_get_notify(r); // nothing is to be fetched
        return;
    }
    request *notify =
        r.kind == op::PUT && r.notify != 0 ? ep_.home().requests.find(r.notify) : nullptr;
    if (notify == nullptr) {
        r.begun = true;
        return;
    }
    r.group = ep_.failover()->open_group();
    r.begun = true;
    ep_.failover()->put_added(r.group, r.unposted);
    notify->group = r.group;
    submit(*notify);
}

// All that a list of gets fetches is here: the peer may know.
void ep_tx::send_get_notify(request &r)
{
    request_pool &pool = ep_.home().requests;
    request *notify = pool.find(r.notify);
    r.notify = 0;
    if (notify == nullptr) {
        return;
    }
    if (!r.state.is_claimed()) {
        submit(*notify);
        return;
    }
    pool.undo(*notify);
    answered(r, r.state.status());
}

void ep_tx::fence()
{
    fence_at_ = gate_.close();
    has_fence_ = true;
}

void ep_tx::release_fenced()
{
    while (!fenced_.empty() && gate_.passed(fenced_.front().fence)) {
        start(*fenced_.pop_front());
    }
}

bool ep_tx::flush(request &r)
{
    const core::flush_gate::generation g = gate_.close();
    if (gate_.passed(g)) {
        return true;
    }
    r.generation = g;
    flushes_.push_back(r);
    return false;
}

void ep_tx::pass_flushes()
{
    while (!flushes_.empty() && gate_.passed(flushes_.front().generation)) {
        flushes_.pop_front()->finish(abandoned_ ? end_status_ : UFX_OK);
    }
}

[[gnu::always_inline]] inline void ep_tx::end(request &r)
{
    leave_queue(r);
    r.ucs::list_node<open_tag>::unlink();
    if (r.group != 0 || r.revoking) [[unlikely]] {
        end_of_others(r);
    }
    if (!r.internal) {
        gate_.leave(r.generation);
    }
    r.complete();
    if (!flushes_.empty()) {
        pass_flushes();
    }
    if (!fenced_.empty()) {
        wake();
    }
}

// What has to go with it.
void ep_tx::end_of_others(const request &r)
{
    if (r.group != 0 && r.kind == op::PUT && ep_.failover() != nullptr) {
        ep_.failover()->close_group(r.group);
    }
    if (r.revoking) {
        ep_.remote().answered({peer::question::about::REVOKE, r.id});
    }
}

[[gnu::always_inline]] inline void ep_tx::end_part(request &r, ufx_status_t status, core::cause why,
                                                   bool remote_final)
{
    if (r.state.fragment_final(status, why, remote_final)) {
        end(r);
    } else if (r.kind == op::GET && r.notify != 0 && r.state.fragments_left() == r.answers) {
        send_get_notify(r);
    }
}

void ep_tx::part_final(request &r, ufx_status_t status, core::cause why, bool remote_final)
{
    end_part(r, status, why, remote_final);
}

void ep_tx::answered(request &r, ufx_status_t status, bool remote_final)
{
    if (r.answers != 0) {
        r.answers = 0;
        part_final(r, status, core::cause::NONE, remote_final);
    }
}

void ep_tx::drop_unposted(request &r, ufx_status_t status, core::cause why, bool remote_final)
{
    leave_queue(r);
    wake(); // for those behind it
    const std::uint32_t parts = r.unposted;
    r.unposted = 0;
    for (std::uint32_t i = 0; i < parts; ++i) {
        if (r.kind == op::PUT && r.group != 0 && ep_.failover() != nullptr) {
            ep_.failover()->put_final(r.group, 0, 0, status, ep_.remote().actions());
        }
        // Without a message there is no answer to it.
        if (i + 1 == parts && is_am(r) && r.answers != 0) {
            r.answers = 0;
            part_final(r, status, why, remote_final);
        }
        part_final(r, status, why, remote_final);
    }
    drop_unsent_notify(r, status, remote_final);
}

// A list of gets sends its notification last, a list of puts when it has its turn.
void ep_tx::drop_unsent_notify(request &r, ufx_status_t status, bool remote_final)
{
    if (r.notify == 0 || (r.kind == op::PUT && r.begun)) {
        return;
    }
    request_pool &pool = ep_.home().requests;
    if (request *notify = pool.find(r.notify); notify != nullptr) {
        pool.undo(*notify);
    }
    r.notify = 0;
    answered(r, status, remote_final);
}

void ep_tx::cancel(request &r)
{
    if (r.completed) {
        return;
    }
    if (r.kind == op::FLUSH) {
        r.ucs::list_node<queue_tag>::unlink();
        r.finish(UFX_ERR_CANCELED);
        return;
    }
    const ucs::handle id = r.id;
    const bool was_sent = r.unposted == 0;
    drop_unposted(r, UFX_ERR_CANCELED, core::cause::NONE, true);
    request_pool &pool = ep_.home().requests;
    if (ep_.failover() != nullptr) {
        ep_.failover()->end_op(id, UFX_ERR_CANCELED, core::cause::NONE, ep_.remote().actions());
        if (request *same = pool.find(id);
            same != nullptr && was_sent && same->type == am_type::RTS && same->answers != 0) {
            send_revoke(ep_, *same);
        }
    }
    if (request *same = pool.find(id); same != nullptr && same->notify != 0) {
        if (request *notify = pool.find(same->notify); notify != nullptr) {
            cancel(*notify);
        }
    }
}

void ep_tx::expire(request &r)
{
    if (r.completed) {
        return;
    }
    if (r.kind == op::FLUSH) {
        r.ucs::list_node<queue_tag>::unlink();
        r.finish(UFX_ERR_TIMEOUT);
        return;
    }
    // A rendezvous that only waits for the peer's application has no deadline.
    if (r.type == am_type::RTS && r.kind == op::AM && r.state.fragments_left() == r.answers) {
        return;
    }
    r.state.claim(UFX_ERR_TIMEOUT, core::cause::OP_DEADLINE);
    const ucs::handle id = r.id;
    request_pool &pool = ep_.home().requests;
    if (ep_.failover() != nullptr) {
        seal_lanes_of(r);
        ep_.failover()->end_op(id, UFX_ERR_TIMEOUT, core::cause::OP_DEADLINE,
                               ep_.remote().actions());
    }
    drop_unsent_notify(r, UFX_ERR_TIMEOUT, true);
    if (request *notify = pool.find(r.notify); notify != nullptr) {
        expire(*notify);
    }
    drop_unposted(r, UFX_ERR_TIMEOUT, core::cause::OP_DEADLINE, true);
    request *same = pool.find(id);
    if (same == nullptr || same->completed || !is_am(*same)) {
        return;
    }
    // An RTS may have arrived: its buffer is given back when the peer says that it does not read.
    if (same->type == am_type::RTS && same->admitted && ep_.failover() != nullptr) {
        send_revoke(ep_, *same);
    } else {
        answered(*same, UFX_ERR_TIMEOUT, false);
    }
}

// A deadline on a posted fragment ends the lane, not only the op: nothing of it may land later.
void ep_tx::seal_lanes_of(const request &r)
{
    std::vector<core::lane_ref> lanes;
    const auto add = [&](const core::lane_ref &ref) {
        if (std::find(lanes.begin(), lanes.end(), ref) == lanes.end()) {
            lanes.push_back(ref);
        }
    };
    for (fragment &f : fragments_) {
        if (f.op == &r && f.where.epoch != 0) {
            add(f.where);
        }
    }
    if (r.admitted) {
        for (std::uint32_t i = 0; i < r.count; ++i) {
            const core::am_tx::entry *e = ep_.failover()->tx().find(r.first + i);
            if (e != nullptr && e->where == core::am_tx::place::POSTED && !e->covered) {
                add({ep_.id(), e->rail, e->epoch});
            }
        }
    }
    for (const core::lane_ref &ref : lanes) {
        ep_.remote().event([&](core::peer &m, core::time_ns now, core::action_list &out) {
            m.lane_failed(ref, core::cause::OP_DEADLINE, now, out);
        });
    }
}

// Requests that `f` ends leave the list; they are recycled by nobody but request_pool::progress().
template <class F>
void ep_tx::each_open(F f)
{
    ucs::list<request, open_tag> all;
    all.splice_back(open_);
    try {
        while (request *r = all.pop_front()) {
            open_.push_back(*r);
            f(*r);
        }
    } catch (...) {
        open_.splice_back(all);
        throw;
    }
}

// The peer does not have the memory any more.
void ep_tx::end_ops_of(std::uint64_t memory_id)
{
    each_open([&](request &r) {
        for (std::size_t i = 0; i < r.pieces.size() && !r.completed; ++i) {
            const rkey *key = r.pieces[i].key;
            if (key != nullptr && key->memory_id() == memory_id && key->is_gone()) {
                end_guilty(r, UFX_ERR_REMOTE_ACCESS);
            }
        }
    });
}

void ep_tx::abandon(ufx_status_t status)
{
    abandoned_ = true;
    end_status_ = status;
    each_open([&](request &r) {
        drop_unposted(r, status, core::cause::NONE, true);
        if (ep_.failover() != nullptr) {
            ep_.failover()->end_op(r.id, status, core::cause::NONE, ep_.remote().actions());
        }
        // While lanes live the peer may still read what an RTS named.
        const bool is_read =
            r.type == am_type::RTS && status == UFX_ERR_CANCELED && !ep_.lanes().empty();
        if (!r.completed && !is_read) {
            answered(r, status, false);
        }
    });
    pass_flushes();
}

// What waited for the last lane of a closed ep: nobody reads these buffers any more.
void ep_tx::last_lane_gone()
{
    each_open([&](request &r) { answered(r, end_status_, false); });
}

void ep_tx::on_fragment_done(const core::act::fragment_done &done)
{
    request_pool &pool = ep_.home().requests;
    if (done.kind == core::op_kind::PUT || done.kind == core::op_kind::GET) {
        fragment *f = pool.find_fragment(done.handle);
        if (f == nullptr) {
            return;
        }
        request &r = *f->op;
        free_fragment(*f);
        part_final(r, done.status, done.why, done.remote_final);
        return;
    }
    wake(); // there is room in the window, and on a lane
    request *r = pool.find(done.handle);
    if (r == nullptr || r->completed) {
        return;
    }
    am_place &place = place_of(r->first + done.part);
    unload(place.where, place.bytes, core::op_kind::AM);
    place = {};
    const ucs::handle id = r->id;
    if (done.status != UFX_OK) {
        answered(*r, done.status, done.remote_final); // what was not delivered is not answered
    }
    if (pool.find(id) == r && !r->completed) {
        part_final(*r, done.status, done.why, done.remote_final);
    }
}

void ep_tx::completed(fragment &f, ufx_status_t status)
{
    // Without failover a broken lane ends its operations itself.
    if (status != UFX_OK && status > UFX_ERR_CANCELED) {
        status = UFX_ERR_UNREACHABLE;
    }
    worker &home = ep_.home();
    lane *over = ep_.find_lane(f.where.rail, f.where.epoch);
    if (over != nullptr) {
        if (f.kind != core::op_kind::AM) { // a message is, until the peer's window covers it
            unload(*over, f.part.length - f.from, f.kind);
        }
        ++over->port().count.completed;
    }
    if (home.stats.waits_completion() && status == UFX_OK) {
        home.stats.completed(home.now());
    }
    core::ep *machine = ep_.failover();
    request &r = *f.op;
    if (f.kind == core::op_kind::AM) {
        const core::am_number number = f.number;
        const bool is_delivery =
            over != nullptr && (over->attr().caps & UFX_UCT_CAP_COMPLETION_IS_DELIVERY) != 0;
        free_fragment(f);
        if (machine != nullptr) {
            machine->am_local_done(number, ep_.remote().actions());
            if (is_delivery && status == UFX_OK) {
                machine->am_delivered(number, ep_.remote().actions());
            }
        }
        wake();
        return;
    }
    if (machine != nullptr && r.group != 0) {
        machine->put_final(r.group, f.where.rail, f.where.epoch, status, ep_.remote().actions());
    }
    free_fragment(f);
    wake();
    end_part(r, status, core::cause::NONE, status == UFX_OK);
}

void ep_tx::free_fragment(fragment &f)
{
    ep_.home().requests.give_back(f);
}

unsigned ep_tx::progress()
{
    if (posting_ || ep_.failover() == nullptr) {
        return 0;
    }
    posting_ = true;
    const struct turn {
        bool &on;
        ~turn() { on = false; }
    } this_turn{posting_};
    ++turn_;
    if (!fenced_.empty()) {
        release_fenced();
    }
    unsigned posted = 0;
    if (!ep_.failover()->frozen().empty()) {
        posted += post_replays();
    }
    const auto has_ams = [this] { return !am_queue_.empty() || ep_.failover()->tx().any_waits(); };
    if (has_ams()) {
        posted += post_ams();
    }
    if (!rma_queue_.empty()) {
        posted += post_rma();
        if (has_ams()) { // notifications of lists that have just begun
            posted += post_ams();
        }
    }
    return posted;
}

} // namespace ufx::ucp
