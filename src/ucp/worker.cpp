// SPDX-License-Identifier: BSD-3-Clause
// A worker: opening, progress, peers, eps.
#include "ucp/worker.h"

#include "ucp/control_path.h"
#include "ucp/debug_commands.h"
#include "ucp/debug_socket.h"
#include "ucp/ep.h"
#include "ucp/listener.h"
#include "ucp/peer.h"
#include "ucp/progress_thread.h"
#include "ucp/refuse.h"
#include "ucp/wakeup.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"
#include "ucs/uuid.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace ufx::ucp {

namespace {

using core::ms_ns;

// Longer gaps between two progress calls count as this much.
constexpr core::time_ns active_gap_ns = 20 * ms_ns;
constexpr core::time_ns attended_gap_ns = 1000 * ms_ns;
// How often lanes, links and ports are looked at, with work under way and without.
constexpr core::time_ns busy_poll_ns = 10 * ms_ns;
constexpr core::time_ns idle_poll_ns = 100 * ms_ns;
// The event loop costs a system call: a worker whose uct is busy looks every so many turns.
constexpr unsigned loop_every = 32;
constexpr core::time_ns loop_every_ns = ms_ns; // a turn may be long
// Rounds of actions and their answers in one progress.
constexpr unsigned action_rounds = 16;
// Workers of one process that can be looked into.
constexpr unsigned max_debug_sockets = 64;

} // namespace

worker::worker(context &ctx, const ufx_ucp_worker_params_t &params)
    : ctx_(ctx), uuid_(ucs::random_uuid()), pid_(::getpid()), timers_(ucs::now_ns()),
      last_turn_(ucs::now_ns()), silence_(static_cast<core::time_ns>(cfg().silence_warn.count()))
{
    if ((params.field_mask & UFX_UCP_WORKER_PARAM_THREAD_MODE) != 0) {
        multi_ = number_of(params.thread_mode) == UFX_UCP_THREAD_MULTI;
    }
    multi_ = multi_ || cfg().progress_thread;
    if ((params.field_mask & UFX_UCP_WORKER_PARAM_RAIL_EVENT) != 0) {
        rail_event_cb_ = params.rail_event_cb;
        rail_event_arg_ = params.rail_event_arg;
    }
    if ((params.field_mask & UFX_UCP_WORKER_PARAM_NAME) != 0 && params.name != nullptr) {
        name_ = params.name;
    }
    if ((params.field_mask & UFX_UCP_WORKER_PARAM_EP_ACCEPT) != 0) {
        ep_accept_cb_ = params.ep_accept_cb;
        ep_accept_arg_ = params.ep_accept_arg;
    }
}

ucs::result<ucs::owner<worker>> worker::create(context &ctx, const ufx_ucp_worker_params_t *params)
{
    static const ufx_ucp_worker_params_t defaults{};
    ucs::owner<worker> made = ucs::make_owner<worker>(ctx, params != nullptr ? *params : defaults);
    const ufx_status_t status = made->open();
    if (status != UFX_OK) {
        return status;
    }
    return made;
}

ufx_status_t worker::open()
{
    auto loop = ucs::event_loop::create();
    if (!loop) {
        return loop.error();
    }
    loop_ = std::move(*loop);
    ufx_status_t status = ufx_uct_worker_create(&uct_);
    if (status != UFX_OK) {
        uct_ = nullptr;
        return status;
    }
    wakeup_ = std::make_unique<wakeup>(*this);
    status = wakeup_->open();
    if (status != UFX_OK) {
        return status;
    }
    control_ = std::make_unique<control_path>(*this);
    for (const device &dev : ctx_.devices()) {
        auto opened = rail::create(*this, dev, static_cast<unsigned>(rails_.size()));
        if (!opened) {
            return opened.error();
        }
        rails_.push_back(std::move(*opened));
    }
    if (ctx_.self_device() != nullptr) {
        auto opened =
            rail::create(*this, *ctx_.self_device(), static_cast<unsigned>(rails_.size()));
        if (opened) {
            self_rail_ = std::move(*opened);
        } else if (opened.error() == UFX_ERR_NO_MEMORY) {
            return opened.error();
        }
    }
    status = control_->listen();
    open_debug_socket();
    if (status == UFX_OK && cfg().progress_thread) {
        thread_ = std::make_unique<progress_thread>(*this);
    }
    return status;
}

// A worker without it works all the same.
void worker::open_debug_socket()
{
    const std::string &where = cfg().debug_socket;
    if (where.empty() || where == "n") {
        return;
    }
    ufx_status_t status = UFX_ERR_ALREADY_EXISTS; // by another worker of this process
    for (unsigned index = 0; status == UFX_ERR_ALREADY_EXISTS && index < max_debug_sockets;
         ++index) {
        auto made = debug_socket::create(
            debug_socket::path_of(where == "y" ? "" : where, pid_, index),
            [this](std::string_view request) { return answer_debug(*this, request); });
        status = made.status();
        if (made) {
            debug_ = std::move(*made);
        }
    }
    if (debug_ == nullptr) {
        ufx_info("no debug socket: %s", ufx_ucs_status_string(status));
        return;
    }
    const auto ready = [](void *arg, std::uint32_t) {
        (void)static_cast<debug_socket *>(arg)->progress();
    };
    (void)loop_->add(debug_->event_fd(), EPOLLIN, ready, debug_.get());
}

worker::~worker()
{
    thread_.reset();
    if (debug_ != nullptr) {
        (void)loop_->remove(debug_->event_fd());
        debug_.reset();
    }
    deferred_.clear();
    for (listener *l : std::vector(listeners)) {
        delete l;
    }
    owned_eps_.clear();
    peers_.clear();
    twins_.clear();
    control_.reset();
    rails_.clear();
    self_rail_.reset();
    wakeup_.reset();
    if (uct_ != nullptr) {
        ufx_uct_worker_destroy(uct_);
    }
}

bool worker::is_forked() const
{
    return ::getpid() != pid_;
}

// ---- Progress --------------------------------------------------------------------------------

unsigned worker::progress()
{
    const unsigned inner = progress_inner();
    user_progress_.store(last_turn_, std::memory_order_relaxed);
    const unsigned outer = progress_outer();
    wakeup_->user_came();
    return inner + outer;
}

unsigned worker::progress_inner()
{
    const control_path::gathering answers(*control_);
    unsigned count = ufx_uct_worker_progress(uct_);
    const core::time_ns at = now();
    count_time(at);
    if (count == 0 || ++quiet_turns_ >= loop_every || at >= next_loop_) {
        quiet_turns_ = 0;
        next_loop_ = at + loop_every_ns;
        count += loop_->wait(0).value_or(0u);
        // uct's descriptor is no news by itself: it stays readable until it is armed again.
        if (const unsigned calls = wakeup_->take_uct_calls(); calls != 0) {
            count += ufx_uct_worker_progress(uct_) - calls;
        }
    }
    count += static_cast<unsigned>(timers_.advance(at));
    if (at >= next_poll_) {
        poll(now()); // what the loop has just accepted and heard must not lie in the future
    }
    count += run_peers();
    running_.insert(running_.end(), scheduled_.begin(), scheduled_.end());
    scheduled_.clear();
    for (std::size_t i = 0; i < running_.size(); ++i) {
        if (running_[i] != nullptr) {
            ep &e = *running_[i];
            e.is_scheduled = false;
            if (e.is_starved()) {
                e.end_starving();
            }
            e.or_fail([&] { count += e.tx.progress(); });
            if (running_[i] != nullptr &&
                std::find(outer_.begin(), outer_.end(), &e) == outer_.end()) {
                outer_.push_back(&e);
            }
        }
    }
    running_.clear();
    count += run_peers();
    return count;
}

unsigned worker::progress_outer()
{
    const control_path::gathering answers(*control_);
    unsigned count = 0;
    due_.swap(deferred_);
    for (std::size_t i = 0; i < due_.size(); ++i) {
        if (due_[i].callback != nullptr) {
            due_[i].callback();
            ++count;
        }
    }
    due_.clear();
    // Handlers may post, schedule and close: what they add waits for the next turn.
    turn_.insert(turn_.end(), outer_.begin(), outer_.end());
    outer_.clear();
    for (std::size_t i = 0; i < turn_.size(); ++i) {
        if (turn_[i] != nullptr) {
            ep &e = *turn_[i];
            e.or_fail([&] { count += e.rx.progress(); });
        }
    }
    count += requests.progress();
    for (std::size_t i = 0; i < turn_.size(); ++i) {
        if (turn_[i] != nullptr) {
            count += turn_[i]->deliver_events();
        }
    }
    turn_.clear();
    count += run_peers();
    if (!closing_.empty()) {
        count += run_closes();
        count += run_peers();
    }
    return count;
}

unsigned worker::run_peers()
{
    for (unsigned count = 0; count < action_rounds; ++count) {
        const bool ran = run_all(peers_);
        if (!run_all(twins_) && !ran) {
            return count;
        }
    }
    return action_rounds;
}

bool worker::run_all(const std::vector<ucs::owner<peer>> &list)
{
    bool ran = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
        ran = (list[i]->has_work() && list[i]->run()) || ran;
    }
    return ran;
}

unsigned worker::run_closes()
{
    unsigned count = 0;
    for (std::size_t i = 0; i < closing_.size();) {
        ep *e = closing_[i];
        if (!e->progress_close()) {
            ++i;
            continue;
        }
        const ucs::handle closed = e->close_request();
        closing_.erase(closing_.begin() + static_cast<std::ptrdiff_t>(i));
        std::erase_if(owned_eps_, [&](const auto &owned) { return owned.get() == e; });
        if (request *r = requests.find(closed)) {
            r->finish(UFX_OK);
        }
        ++count;
    }
    return count;
}

void worker::force_close(ucs::handle request)
{
    for (ep *e : closing_) {
        if (e->close_request() == request) {
            e->force();
        }
    }
}

void worker::count_time(core::time_ns at)
{
    const core::time_ns gap = at > last_turn_ ? at - last_turn_ : 0;
    active_ += std::min(gap, active_gap_ns);
    attended_ += std::min(gap, attended_gap_ns);
    last_turn_ = at;
}

void worker::poll(core::time_ns at)
{
    bool busy = control_->busy();
    for (const auto &r : rails_) {
        r->poll(at, active_);
        busy = busy || r->has_outstanding();
    }
    control_->tick(at);
    for (const auto &p : peers_) {
        p->tick();
    }
    for (const auto &e : owned_eps_) {
        e->look_whether_it_waits(at);
    }
    silence_.look(*this, at);
    sweep_peers();
    const bool idle =
        !owned_eps_.empty() && std::all_of(owned_eps_.begin(), owned_eps_.end(), [](const auto &e) {
            return e->state() == UFX_UCP_EP_CONNECTED && e->tx.idle();
        });
    if (idle) {
        ucs::trace_point("idle");
    }
    next_poll_ = at + (busy ? busy_poll_ns : idle_poll_ns);
}

void worker::sweep_peers()
{
    std::erase_if(peers_, [](const auto &p) { return p->is_over(); });
}

core::time_ns worker::next_deadline()
{
    return std::min(timers_.next_expiry(), next_poll_);
}

bool worker::has_work()
{
    const auto waits = [](const auto &p) { return p->has_actions(); };
    return !scheduled_.empty() || !outer_.empty() || !turn_.empty() || !deferred_.empty() ||
           !requests.empty() || std::any_of(peers_.begin(), peers_.end(), waits) ||
           std::any_of(twins_.begin(), twins_.end(), waits);
}

void worker::kick()
{
    wakeup_->kick();
}

void worker::schedule(ep &e)
{
    if (!e.is_scheduled) {
        scheduled_.push_back(&e);
        e.is_scheduled = true;
        next_poll_ = std::min(next_poll_, last_turn_ + busy_poll_ns);
    }
}

void worker::defer(std::function<void()> callback, const void *owner)
{
    deferred_.push_back({std::move(callback), owner});
}

void worker::withdraw(const void *owner)
{
    std::erase_if(deferred_, [&](const deferred &d) { return d.owner == owner; });
    for (deferred &d : due_) {
        if (d.owner == owner) {
            d.callback = nullptr;
        }
    }
}

// ---- Peers and eps ---------------------------------------------------------------------------

peer *worker::find_peer(std::uint64_t uuid) const
{
    for (const auto &p : peers_) {
        if (p->uuid() == uuid && !p->is_dead()) {
            return p.get();
        }
    }
    return nullptr;
}

ucs::result<peer *> worker::get_peer(const worker_address &address)
{
    if (address.uuid == uuid_) {
        return self_peer();
    }
    if (peer *known = find_peer(address.uuid)) {
        return known;
    }
    peers_.push_back(ucs::make_owner<peer>(*this, address));
    peer &made = *peers_.back();
    (void)control_->link_to(address, made);
    next_poll_ = 0;
    return &made;
}

ucs::result<peer *> worker::self_peer()
{
    if (self_rail_ == nullptr) {
        return UFX_ERR_UNREACHABLE;
    }
    if (twins_.empty()) {
        const worker_address own = make_address();
        twins_.push_back(ucs::make_owner<peer>(*this, own));
        twins_.push_back(ucs::make_owner<peer>(*this, own));
        const auto index = static_cast<std::uint8_t>(self_rail_->index());
        peer::make_twins(*twins_[0], *twins_[1], rail_id_of({index, index}));
    }
    return twins_[0].get();
}

void worker::accept_ep(peer &from, core::ep_id peer_ep, std::uint64_t connection,
                       core::error_mode mode)
{
    ucs::owner<ep> made = ucs::make_owner<ep>(*this, mode);
    ep &e = *made;
    adopt(std::move(made));
    e.join(from, peer_ep, connection);
    if (ep_accept_cb_ != nullptr && !from.is_self()) {
        defer([this, &e] { ep_accept_cb_(ep_accept_arg_, &e); }, &e);
    } else {
        e.set_unattended();
    }
}

// Scheduling an ep then allocates nothing.
void worker::adopt(ucs::owner<ep> e)
{
    const std::size_t room = 2 * std::bit_ceil(owned_eps_.size() + 1);
    for (std::vector<ep *> *list : {&scheduled_, &running_, &outer_, &turn_, &closing_}) {
        list->reserve(room);
    }
    owned_eps_.push_back(std::move(e));
}

void worker::unregister_ep(ep &e)
{
    withdraw(&e);
    eps_.erase(e.id());
    std::erase(scheduled_, &e);
    std::erase(closing_, &e);
    std::erase(outer_, &e);
    std::replace(running_.begin(), running_.end(), &e, static_cast<ep *>(nullptr));
    std::replace(turn_.begin(), turn_.end(), &e, static_cast<ep *>(nullptr));
}

std::uint64_t worker::next_listener_connection(const sockaddr_storage &remote)
{
    return listener_connection | connection_tag(remote) | ++next_connection_;
}

worker_address worker::make_address() const
{
    worker_address address;
    address.uuid = uuid_;
    for (const auto &r : rails_) {
        address.rails.push_back(address_of(*r));
    }
    return address;
}

rail_address worker::address_of(const rail &r) const
{
    rail_address a = r.read_address();
    a.control = control_->address_of(r.index());
    a.prefix_bits = find_device_address(r.interface()).prefix_bits;
    return a;
}

rail *worker::find_rail(std::string_view name) const
{
    for (const auto &r : rails_) {
        if (r->name() == name) {
            return r.get();
        }
    }
    unsigned index = 0;
    constexpr std::string_view prefix = "rail";
    if (name.starts_with(prefix)) {
        const char *from = name.data() + prefix.size();
        const char *to = name.data() + name.size();
        const auto parsed = std::from_chars(from, to, index);
        if (parsed.ec == std::errc() && parsed.ptr == to && index < rails_.size()) {
            return rails_[index].get();
        }
    }
    return nullptr;
}

void worker::rail_event(const peer &p, unsigned local_index, ufx_ucp_rail_state_t from,
                        ufx_ucp_rail_state_t to, const char *cause)
{
    if (p.is_self() || local_index >= rails_.size()) {
        return;
    }
    const rail &r = *rails_[local_index];
    ufx_info("%s towards %016lx: %s -> %s (%s)", r.name().c_str(), p.uuid(),
             core::name_of(static_cast<core::rail_state>(from)),
             core::name_of(static_cast<core::rail_state>(to)), cause);
    if (rail_event_cb_ == nullptr) {
        return;
    }
    const ufx_ucp_rail_event_t event{0,    r.name().c_str(), local_index, p.uuid(), from, to, cause,
                                     now()};
    defer([this, event] { rail_event_cb_(rail_event_arg_, &event); }, nullptr);
}

} // namespace ufx::ucp
