// SPDX-License-Identifier: BSD-3-Clause
// The link to one peer: attempts, doubles, silence, death.
#include "ucp/control_link.h"

#include "ucp/control_path.h"
#include "ucp/core/mutant.h"
#include "ucp/core/resend.h"
#include "ucp/ep.h"
#include "ucp/peer.h"
#include "ucp/worker.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ufx::ucp {

namespace {

using core::ms_ns;
using core::mutant;
using core::mutated;

// An attempt that takes longer is given up; the next address is tried long before.
constexpr core::time_ns connect_limit_ns = 5000 * ms_ns;
// Heard so recently, a connection is certainly alive.
constexpr core::time_ns fresh_ns = 1000 * ms_ns;
constexpr std::size_t max_connections = 6;
// A message that came over a lane is answered over lanes too, and what follows soon after.
constexpr core::time_ns lane_answers_ns = 50 * ms_ns;
constexpr std::size_t max_backlog = 256;

} // namespace

control_link::control_link(control_path &path, std::uint64_t uuid, peer *p)
    : path_(path), uuid_(uuid), peer_(p),
      backoff_(core::resend_first_ns, core::resend_max_ns, uuid + path.home().uuid()),
      closed_at_(path.home().now()), heard_at_(path.home().attended_time())
{
}

// The open connection that was heard last.
control_conn *control_link::primary() const
{
    control_conn *best = nullptr;
    for (control_conn *conn : conns_) {
        if (!conn->ended() && conn->where() == control_conn::phase::OPEN &&
            (best == nullptr || conn->heard() >= best->heard())) {
            best = conn;
        }
    }
    return best;
}

std::size_t control_link::open_count() const
{
    return static_cast<std::size_t>(
        std::count_if(conns_.begin(), conns_.end(), [](const control_conn *conn) {
            return !conn->ended() && conn->where() == control_conn::phase::OPEN;
        }));
}

void control_link::send(std::vector<std::uint8_t> frame, unsigned attempt)
{
    if (attempt > 0) {
        unanswered_ = true;
    }
    control_conn *first = primary();
    if (first == nullptr) {
        if (!finished_ && backlog_.size() < max_backlog) {
            backlog_.push_back(std::move(frame));
        }
        return;
    }
    first->send(frame);
    for (std::size_t i = 0; attempt > 0 && i < conns_.size(); ++i) {
        if (conns_[i] != first && conns_[i]->where() == control_conn::phase::OPEN) {
            conns_[i]->send(frame);
        }
    }
}

void control_link::heard()
{
    heard_at_ = path_.home().attended_time();
    unanswered_ = false;
}

void control_link::heard_by_lane(core::time_ns now)
{
    heard();
    lane_until_ = now + lane_answers_ns;
}

bool control_link::wants_lanes(core::time_ns now) const
{
    return !is_open() || now < lane_until_;
}

void control_link::cut()
{
    const std::vector<control_conn *> all = conns_;
    for (control_conn *conn : all) {
        conn->reset();
    }
}

void control_link::opened(control_conn &conn)
{
    conn.set_open();
    ufx_debug("control: connected to %016lx by %s", uuid_, text_of(conn.remote()).c_str());
    heard();
    backoff_.reset();
    for (target &t : targets_) {
        t.refused = false;
    }
    for (const auto &frame : backlog_) {
        conn.send(frame);
    }
    backlog_.clear();
}

void control_link::ended(control_conn &conn)
{
    const bool was_open = conn.where() == control_conn::phase::OPEN;
    std::erase(conns_, &conn);
    if (conn.error() == ECONNREFUSED && conn.where() == control_conn::phase::CONNECTING) {
        note_refused(conn.target);
    }
    if (was_open && !is_open()) {
        ufx_debug("control: the connection to %016lx by %s ended: %s", uuid_,
                  text_of(conn.remote()).c_str(),
                  conn.error() > 0 ? std::strerror(conn.error()) : "closed by the peer");
        backoff_.reset();
        closed_at_ = next_attempt_ = path_.home().now();
    }
}

void control_link::note_refused(std::size_t index)
{
    if (index >= targets_.size() || is_open() || finished_) {
        return;
    }
    targets_[index].refused = true;
    if (std::all_of(targets_.begin(), targets_.end(), [](const target &t) { return t.refused; })) {
        die("its process has gone: every control address refuses connections");
    }
}

void control_link::another_uuid()
{
    die("its process has gone: another one answers at its address");
}

void control_link::other_version(const control_conn &conn)
{
    const std::string text =
        "the peer at " + text_of(conn.remote()) + " speaks another version of the protocol";
    fail_waiting(UFX_ERR_VERSION, UFX_UCP_REFUSED_VERSION, text);
    if (peer_ != nullptr) {
        peer_->refuse_all(UFX_ERR_VERSION, UFX_UCP_REFUSED_VERSION, text);
        die("it speaks another version of the protocol");
    }
}

void control_link::fail_waiting(ufx_status_t status, ufx_ucp_refusal_t code,
                                const std::string &text)
{
    const std::vector<ep *> all = std::exchange(waiting, {});
    for (ep *e : all) {
        e->on_error_text(status, code, text);
    }
    if (uuid_ == 0) {
        finished_ = true;
    }
}

void control_link::die(const char *why)
{
    if (finished_) {
        return;
    }
    if (peer_ == nullptr) {
        fail_waiting(UFX_ERR_UNREACHABLE, UFX_UCP_REFUSED_NONE,
                     "nobody listens at " + text_of(targets_.front().address));
        return;
    }
    finished_ = true;
    peer_->declare_dead(why);
}

void control_link::attempt(core::time_ns now)
{
    next_attempt_ = now + backoff_.next();
    if (targets_.empty() || conns_.size() >= max_connections) {
        ufx_debug("control: %zu connections to %016lx are under way", conns_.size(), uuid_);
        return;
    }
    for (std::size_t tried = 0; tried < targets_.size(); ++tried) {
        const std::size_t index =
            mutated(mutant::CONTROL_ONE_WAY) ? 0 : next_target_++ % targets_.size();
        const target t = targets_[index];
        const auto &rails = path_.home().rails();
        if (t.rail >= 0 && static_cast<std::size_t>(t.rail) < rails.size() &&
            rails[static_cast<std::size_t>(t.rail)]->link_injected_down()) {
            continue;
        }
        ucs::trace_point("connect");
        ufx_debug("control: connecting to %s by rail %d", text_of(t.address).c_str(), t.rail);
        int error = 0;
        if (path_.open_to(t.address, t.rail, this, index, error) == nullptr) {
            ufx_debug("control: cannot connect to %s: %s", text_of(t.address).c_str(),
                      std::strerror(error));
            if (error == ECONNREFUSED) {
                note_refused(index);
            }
        }
        return;
    }
}

// Whoever has the smaller uuid closes what the larger one opened, once its own is heard.
void control_link::close_doubles(core::time_ns now)
{
    if (uuid_ == 0 || path_.home().uuid() > uuid_ || open_count() < 2) {
        return;
    }
    control_conn *keep = nullptr;
    for (control_conn *conn : conns_) {
        if (conn->where() == control_conn::phase::OPEN && conn->opened_here() &&
            now - conn->heard() < fresh_ns && (keep == nullptr || conn->heard() > keep->heard())) {
            keep = conn;
        }
    }
    for (std::size_t i = 0; keep != nullptr && i < conns_.size(); ++i) {
        if (conns_[i] != keep && conns_[i]->where() == control_conn::phase::OPEN) {
            conns_[i]->close_after_flush();
            conns_[i]->send({});
        }
    }
}

void control_link::drop_slow(core::time_ns now)
{
    const std::vector<control_conn *> all = conns_;
    for (control_conn *conn : all) {
        if (conn->where() != control_conn::phase::OPEN && !conn->ended() &&
            now - conn->since() > connect_limit_ns) {
            conn->reset();
        }
    }
    // Room for a fresh attempt: the one that was heard longest ago has to go.
    if (conns_.size() >= max_connections) {
        control_conn *oldest = *std::min_element(
            conns_.begin(), conns_.end(),
            [](const control_conn *a, const control_conn *b) { return a->heard() < b->heard(); });
        if (now - oldest->heard() > fresh_ns) {
            oldest->reset();
        }
    }
}

void control_link::watch_silence(core::time_ns now)
{
    const auto limit = static_cast<core::time_ns>(path_.home().cfg().peer_timeout.count());
    const core::time_ns silent = path_.home().attended_time() - heard_at_;
    if (silent > limit) {
        if (peer_ == nullptr) {
            fail_waiting(UFX_ERR_UNREACHABLE, UFX_UCP_REFUSED_NONE,
                         "no answer from " + text_of(targets_.front().address));
            return;
        }
        die("it was silent for UFX_PEER_TIMEOUT");
        return;
    }
    if (peer_ != nullptr && silent > limit / 4 && now >= next_hello_) {
        next_hello_ = now + limit / 8;
        path_.send(*peer_, core::hello_msg{}, 1);
    }
}

// The matched ports do not connect: try the others too.
void control_link::try_everything(core::time_ns now)
{
    const auto patience = static_cast<core::time_ns>(path_.home().cfg().rail_holdoff.count());
    if (crossed_ || peer_ == nullptr || is_open() || now - closed_at_ < patience) {
        return;
    }
    crossed_ = true;
    for (const target &extra : peer_->all_control_targets()) {
        const bool there = std::any_of(targets_.begin(), targets_.end(), [&](const target &t) {
            return t.rail == extra.rail && same_address(t.address, extra.address);
        });
        if (!there) {
            targets_.push_back(extra);
        }
    }
}

void control_link::tick(core::time_ns now)
{
    if (finished_) {
        return;
    }
    try_everything(now);
    drop_slow(now);
    close_doubles(now);
    if ((!is_open() || unanswered_) && now >= next_attempt_) {
        attempt(now);
    }
    if (!finished_) {
        watch_silence(now);
    }
}

void control_link::replace_address(const sockaddr_storage &old, const sockaddr_storage &fresh)
{
    for (target &t : targets_) {
        if (same_address(t.address, old)) {
            t.address = fresh;
            t.refused = false;
        }
    }
}

} // namespace ufx::ucp
