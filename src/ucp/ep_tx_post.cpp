// SPDX-License-Identifier: BSD-3-Clause
// Posting: which lane takes the next fragment, replays first; puts and gets.
#include "ucp/ep.h"
#include "ucp/ep_tx.h"
#include "ucp/mem_table.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/request_pool.h"
#include "ucp/rkey.h"
#include "ucp/worker.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"

#include <algorithm>
#include <utility>

namespace ufx::ucp {

namespace {

// Pieces per lane of a striped transfer: enough to even out lanes of different speed.
constexpr std::size_t chunks_per_lane = 4;
// What a lane may hold at least before others are preferred for good.
constexpr std::size_t min_lane_room = 4 << 20;
constexpr double ns_per_s = 1e9;
constexpr double full_ramp = 256;

std::size_t bytes_in(double bandwidth, std::chrono::nanoseconds time)
{
    return static_cast<std::size_t>(bandwidth * static_cast<double>(time.count()) / ns_per_s);
}

// Of a rail's device, what one put or get may carry, and does in at most fragment_time.
std::size_t part_limit(const ufx_uct_iface_attr_t &attr, std::size_t length, const config &cfg,
                       bool is_put)
{
    const std::size_t most = is_put ? attr.put.max_zcopy : attr.get.max_zcopy;
    if (length <= ep_tx::min_chunk) {
        return most;
    }
    const std::size_t timely = bytes_in(attr.bandwidth, cfg.fragment_time);
    return timely == 0 ? most : std::min(most, std::max(timely, ep_tx::min_chunk));
}

const rkey::unpacked *key_on(const lane &over, rkey &key)
{
    return key.on(over.port().md(), over.remote_index(), over.remote_generation());
}

bool reaches(const lane &over, const transfer &part)
{
    return key_on(over, *part.key) != nullptr && over.serves(part.memory);
}

} // namespace

std::size_t ep_tx::chunk_of(std::size_t length, bool is_put) const
{
    const worker &home = ep_.home();
    std::size_t limit = SIZE_MAX;
    const bool self = ep_.has_peer() && ep_.remote().is_self();
    if (self && home.self_rail() != nullptr) {
        limit = part_limit(home.self_rail()->attr(), length, home.cfg(), is_put);
    } else {
        for (const auto &r : home.rails()) {
            limit = std::min(limit, part_limit(r->attr(), length, home.cfg(), is_put));
        }
    }
    if (length <= min_chunk) {
        return std::max<std::size_t>(limit, 1); // not worth a second lane
    }
    const auto lanes = static_cast<std::size_t>(std::count_if(
        ep_.lanes().begin(), ep_.lanes().end(), [](const lane *l) { return l->is_open(); }));
    if (lanes > 1) {
        const std::size_t even = (length + lanes * chunks_per_lane - 1) / (lanes * chunks_per_lane);
        limit = std::min(limit, std::max(even, min_chunk));
    }
    return std::max<std::size_t>(limit, 1);
}

ufx_status_t ep_tx::on_room(ufx_uct_pending_req_t *pending) noexcept
{
    static_assert(offsetof(tx_port, pending) == 0);
    auto *p = reinterpret_cast<tx_port *>(pending);
    p->waits = false;
    p->self->wake();
    return UFX_OK;
}

void ep_tx::refuse(lane &over, ufx_status_t status)
{
    tx_port &p = over.room;
    p.refused_in = turn_;
    if (status != UFX_ERR_NO_RESOURCE) {
        return; // the uct ep has failed: the gate follows
    }
    p.pending.func = &ep_tx::on_room;
    p.self = this;
    p.waits = ufx_uct_ep_pending_add(over.uct(), &p.pending) == UFX_OK;
    if (!p.waits) {
        wake(); // there is room again, or the transport has no such queue
    }
}

bool ep_tx::is_ready(const lane &over) const
{
    return over.is_open() && !over.room.waits && over.room.refused_in != turn_;
}

void ep_tx::lane_gone(lane &over)
{
    if (over.room.waits) {
        ufx_uct_ep_pending_purge(over.uct(), nullptr, nullptr);
        over.room.waits = false;
    }
    if (abandoned_ && ep_.lanes().size() == 1) {
        last_lane_gone();
    }
}

double ep_tx::weight_of(const lane &over) const
{
    const core::rail *health = ep_.remote().machine().find_rail(over.ref().rail);
    const double bandwidth = over.port().speed().bytes_per_s();
    if (health == nullptr || !health->has_changed()) {
        return bandwidth;
    }
    const double ramp = health->ramp(ep_.home().now(), ep_.remote().core_cfg());
    return bandwidth * std::max(ramp, 1.0) / full_ramp;
}

std::size_t ep_tx::room_of(const lane &over) const
{
    const std::size_t timely =
        2 * bytes_in(over.port().speed().bytes_per_s(), ep_.home().cfg().fragment_time);
    return std::max(over.port().speed().is_measured() ? min_chunk : min_lane_room, timely);
}

// Room is for puts and gets, which end by themselves. A message ends when those before it have, and
// a message may follow puts: one that waited for the room of others might wait for itself.
[[gnu::always_inline]] inline bool ep_tx::may_take(const lane &over, const transfer *part) const
{
    if (part == nullptr || !is_ready(over)) {
        return is_ready(over);
    }
    const auto ahead = static_cast<std::size_t>(over.rma_bytes);
    const std::size_t all = ahead + part->length;
    return (ahead == 0 || all <= min_chunk || all <= room_of(over)) && reaches(over, *part);
}

// When it would have moved `length` more bytes, beside what other eps have posted on its port.
double ep_tx::time_of(const lane &over, std::size_t length) const
{
    return (static_cast<double>(over.port().outstanding_bytes()) + static_cast<double>(length)) /
           weight_of(over);
}

// A lane that is so slow that another one, which has only to end a put or get first, would be
// through with all that is left before.
bool ep_tx::holds_back(const lane &over, const transfer &part, const request &r)
{
    if (rma_queue_.empty() || &rma_queue_.back() != &r) {
        return false; // what is behind it needs every lane
    }
    const double own = time_of(over, part.length);
    const auto is_before = [&](std::size_t rest) {
        return std::any_of(ep_.lanes().begin(), ep_.lanes().end(), [&](const lane *other) {
            return other != &over && is_ready(*other) && other->rma_bytes != 0 &&
                   reaches(*other, part) && time_of(*other, rest) < own;
        });
    };
    const std::size_t of_piece = r.pieces[r.piece].length - r.offset;
    if (!is_before(of_piece)) {
        return false;
    }
    std::size_t rest = of_piece;
    for (std::size_t i = r.piece + 1; i < r.pieces.size(); ++i) {
        rest += r.pieces[i].length;
    }
    return is_before(rest);
}

lane *ep_tx::pick(const transfer *part)
{
    const std::vector<lane *> &lanes = ep_.lanes();
    return lanes.size() == 1 && may_take(*lanes.front(), part) ? lanes.front() : pick_best(part);
}

// The ready lane that will have moved one fragment more first.
lane *ep_tx::pick_best(const transfer *part)
{
    const std::size_t length = part != nullptr ? part->length : 0;
    lane *best = nullptr;
    double best_time = -1; // not known yet: the only lane needs none
    for (lane *l : ep_.lanes()) {
        if (!may_take(*l, part)) {
            if (part != nullptr && l->is_open() && part->key->is_stale_for(*l)) {
                ask_fresh_key(*part->key, *l);
            }
            continue;
        }
        if (best == nullptr) {
            best = l;
            continue;
        }
        best_time = best_time < 0 ? time_of(*best, length) : best_time;
        if (const double time = time_of(*l, length); time < best_time) {
            best = l;
            best_time = time;
        }
    }
    return best;
}

void ep_tx::load(lane &over, std::size_t bytes, core::op_kind kind)
{
    ++over.posted;
    ++over.outstanding;
    over.outstanding_bytes += bytes;
    over.port().posted(bytes);
    over.rma_bytes += kind == core::op_kind::AM ? 0 : bytes;
    ++over.port().count.posted;
    over.port().count.tx_bytes += bytes;
}

void ep_tx::unload(const core::lane_ref &where, std::size_t bytes, core::op_kind kind)
{
    if (where.epoch == 0) {
        return;
    }
    if (lane *over = ep_.find_lane(where.rail, where.epoch); over != nullptr) {
        unload(*over, bytes, kind);
    }
}

void ep_tx::unload(lane &over, std::size_t bytes, core::op_kind kind)
{
    const std::size_t of_rma = kind == core::op_kind::AM ? 0 : bytes;
    const std::uint64_t known = std::min<std::uint64_t>(over.outstanding_bytes, bytes);
    over.outstanding -= over.outstanding != 0 ? 1 : 0;
    over.outstanding_bytes -= known;
    over.port().ended(known);
    over.rma_bytes -= std::min<std::uint64_t>(over.rma_bytes, of_rma);
}

// Posts what is left of a put or get. OK: it was final at once.
[[gnu::always_inline]] inline ufx_status_t ep_tx::post_part(lane &over, fragment &f)
{
    const std::size_t length = f.part.length - f.from;
    ufx_uct_iov_t iov{};
    iov.buffer = f.part.local + f.from;
    iov.length = length;
    if (f.part.memory != nullptr && f.part.memory->holds(iov.buffer, length)) {
        iov.memh = f.part.memory->handle(over.port().domain());
    }
    f.comp.count = 1;
    f.comp.status = UFX_OK;
    const rkey::unpacked &key = *key_on(over, *f.part.key); // pick() has asked
    const std::uint64_t remote = f.part.remote + f.from;
    const ufx_status_t status =
        f.kind == core::op_kind::PUT
            ? ufx_uct_ep_put_zcopy(over.uct(), &iov, 1, remote, key.bundle.rkey, &f.comp)
            : ufx_uct_ep_get_zcopy(over.uct(), &iov, 1, remote, key.bundle.rkey, &f.comp);
    if (status < 0) {
        return status;
    }
    f.where = over.ref();
    load(over, length, f.kind);
    if (f.kind == core::op_kind::PUT) {
        ucs::trace_point("put_mid_frame");
    }
    return status;
}

unsigned ep_tx::post_replays()
{
    unsigned posted = 0;
    while (ep_.failover() != nullptr && !ep_.failover()->frozen().empty()) {
        const core::fragment frozen = ep_.failover()->frozen().front();
        fragment *f = ep_.home().requests.find_fragment(frozen.handle);
        if (f == nullptr) {
            break;
        }
        f->from = static_cast<std::size_t>(frozen.from);
        f->replays = frozen.replays;
        transfer rest = f->part;
        rest.length -= f->from;
        lane *over = pick(&rest);
        if (over == nullptr) {
            const std::size_t before = ep_.failover()->frozen().size();
            end_if_hopeless(*f->op, *f->part.key);
            if (ep_.failover()->frozen().size() < before) {
                continue; // what is behind it may have another key
            }
            break;
        }
        ep_.failover()->expect_put(frozen.group);
        const ufx_status_t status = post_part(*over, *f);
        if (status < 0) {
            refuse(*over, status);
            continue;
        }
        ep_.failover()->replay_posted(frozen.handle, over->ref().rail);
        ep_.home().stats.replayed(ep_.home().now());
        ucs::trace_point("replay_posted");
        ++posted;
        if (status == UFX_OK) {
            completed(*f, UFX_OK);
        }
    }
    return posted;
}

// Cuts the next fragment off a request and posts it. `more` false: no lane takes it now.
ufx_status_t ep_tx::post_slice(request &r, bool &more)
{
    more = false;
    const transfer &piece = r.pieces[r.piece];
    const bool is_put = r.kind == op::PUT;
    struct unless_posted {
        ~unless_posted()
        {
            if (made != nullptr) {
                requests.give_back(*made);
            }
        }
        request_pool &requests;
        fragment *made;
    } draft{ep_.home().requests, &ep_.home().requests.take_fragment(
                                     ep_, r, is_put ? core::op_kind::PUT : core::op_kind::GET)};
    fragment &f = *draft.made;
    transfer &slice = f.part;
    slice = piece;
    slice.local += r.offset;
    slice.remote += r.offset;
    slice.length = std::min(r.chunk, piece.length - r.offset);
    lane *over = pick(&slice);
    if (over == nullptr || (ep_.lanes().size() > 1 && holds_back(*over, slice, r))) {
        return UFX_OK;
    }
    if (r.group != 0) {
        ep_.failover()->expect_put(r.group);
    }
    const ufx_status_t status = post_part(*over, f);
    if (status < 0) {
        if (is_for_ever(status)) {
            return status;
        }
        refuse(*over, status);
        more = true; // another lane may take it
        return UFX_OK;
    }
    fragments_.push_back(*std::exchange(draft.made, nullptr));
    more = true;
    if (is_put && r.group != 0) {
        ep_.failover()->put_posted(r.group, over->ref().rail);
    }
    --r.unposted;
    r.offset += slice.length;
    if (r.offset == piece.length) {
        ++r.piece;
        r.offset = 0;
    }
    if (r.unposted == 0) {
        leave_queue(r);
    }
    if (status == UFX_OK) {
        completed(f, UFX_OK);
    }
    return UFX_OK;
}

unsigned ep_tx::post_rma()
{
    unsigned posted = 0;
    // While frozen fragments wait for a lane, new ones wait behind them.
    while (!rma_queue_.empty() && ep_.failover() != nullptr && ep_.failover()->frozen().empty()) {
        request &r = rma_queue_.front();
        if (!r.begun) {
            begin(r);
        }
        if (r.unposted == 0) {
            leave_queue(r);
            continue;
        }
        bool more = false;
        const ufx_status_t status = post_slice(r, more);
        if (status != UFX_OK) {
            ufx_error("%s: the transport refuses a fragment: %s", ep_.name().c_str(),
                      ufx_ucs_status_name(status));
            drop_unposted(r, status, core::cause::NONE, true);
            continue;
        }
        if (!more && end_if_hopeless(r, *r.pieces[r.piece].key)) {
            continue;
        }
        if (!more) {
            break;
        }
        ++posted;
    }
    return posted;
}

// With a key that is good for nothing any more. True: it has ended.
bool ep_tx::end_if_hopeless(request &r, const rkey &key)
{
    if (key.is_gone()) {
        end_guilty(r, UFX_ERR_REMOTE_ACCESS);
        return true;
    }
    if (serves_no_rail(key)) {
        ufx_error("%s: a key is for none of the rails to its peer", ep_.name().c_str());
        end_guilty(r, UFX_ERR_UNREACHABLE);
        return true;
    }
    return false;
}

bool ep_tx::serves_no_rail(const rkey &key) const
{
    const peer &target = ep_.remote();
    const auto &rails = target.machine().rail_ids();
    return std::none_of(rails.begin(), rails.end(),
                        [&](core::rail_id id) { return key.serves(target.remote_index(id)); });
}

} // namespace ufx::ucp
