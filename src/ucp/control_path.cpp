// SPDX-License-Identifier: BSD-3-Clause
// The control path of a worker: listening sockets, HELLO, routing of messages to peers.
#include "ucp/control_path.h"

#include "ucp/core/mutant.h"
#include "ucp/ep.h"
#include "ucp/listener.h"
#include "ucp/peer.h"
#include "ucp/worker.h"
#include "ucs/log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace ufx::ucp {

// One listening socket.
struct control_path::gate {
    control_path *path = nullptr;
    ucs::fd socket;
    int rail = -1;
    listener *owner = nullptr;
    sockaddr_storage address{};
};

namespace {

using core::mutant;
using core::mutated;

constexpr int backlog = 128;

} // namespace

control_path::control_path(worker &w) : worker_(w) {}

control_path::~control_path()
{
    for (const auto &g : gates_) {
        (void)worker_.loop().remove(g->socket.get());
    }
}

ufx_status_t control_path::open_gate(const sockaddr_storage &address, int rail, listener *owner)
{
    ucs::fd socket(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) {
        ufx_error("control: socket: %s", std::strerror(errno));
        return UFX_ERR_IO;
    }
    const int one = 1;
    if (owner != nullptr) {
        (void)setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    }
    if (::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), length_of(address)) !=
            0 ||
        ::listen(socket.get(), backlog) != 0) {
        const int error = errno;
        ufx_error("control: cannot listen on %s: %s", text_of(address).c_str(),
                  std::strerror(error));
        return error == EADDRINUSE ? UFX_ERR_BUSY
                                   : (error == EADDRNOTAVAIL ? UFX_ERR_NO_DEVICE : UFX_ERR_IO);
    }
    auto g = std::make_unique<gate>();
    g->path = this;
    g->rail = rail;
    g->owner = owner;
    socklen_t size = sizeof(g->address);
    (void)getsockname(socket.get(), reinterpret_cast<sockaddr *>(&g->address), &size);
    g->socket = std::move(socket);
    gates_.push_back(std::move(g));
    gate &made = *gates_.back();
    const auto added = worker_.loop().add(made.socket.get(), EPOLLIN, &on_acceptable, &made);
    if (!added) {
        gates_.pop_back();
        return added.error();
    }
    return UFX_OK;
}

ufx_status_t control_path::listen()
{
    for (const auto &r : worker_.rails()) {
        sockaddr_storage address = find_device_address(r->interface()).address;
        if (address.ss_family == AF_UNSPEC) {
            // A device without an IP address of its own is controlled by way of the loopback.
            ufx_info("%s has no IP address: its control connections go by the loopback",
                     r->name().c_str());
            auto &v4 = reinterpret_cast<sockaddr_in &>(address);
            v4.sin_family = AF_INET;
            v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        const ufx_status_t opened = open_gate(address, static_cast<int>(r->index()), nullptr);
        if (opened != UFX_OK) {
            return opened;
        }
    }
    return UFX_OK;
}

void control_path::move_gate(unsigned rail, const sockaddr_storage &address)
{
    const sockaddr_storage before = address_of(rail);
    if (address.ss_family == AF_UNSPEC || same_address(without_port(before), address) ||
        open_gate(address, static_cast<int>(rail), nullptr) != UFX_OK) {
        return; // the old one may come back
    }
    std::erase_if(gates_, [&](const std::unique_ptr<gate> &g) {
        if (g->rail != static_cast<int>(rail) || !same_address(g->address, before)) {
            return false;
        }
        (void)worker_.loop().remove(g->socket.get());
        return true;
    });
}

sockaddr_storage control_path::address_of(unsigned rail) const
{
    for (const auto &g : gates_) {
        if (g->rail == static_cast<int>(rail)) {
            return g->address;
        }
    }
    return {};
}

ucs::result<int> control_path::add_listener(const sockaddr_storage &address, listener &owner)
{
    const ufx_status_t opened = open_gate(address, -1, &owner);
    if (opened != UFX_OK) {
        return opened;
    }
    owner.set_address(gates_.back()->address);
    return 0;
}

void control_path::remove_listener(listener &owner)
{
    std::erase_if(gates_, [&](const std::unique_ptr<gate> &g) {
        if (g->owner != &owner) {
            return false;
        }
        (void)worker_.loop().remove(g->socket.get());
        return true;
    });
}

void control_path::on_acceptable(void *arg, std::uint32_t)
{
    auto &g = *static_cast<gate *>(arg);
    g.path->accept_from(g);
}

void control_path::accept_from(gate &g)
{
    sockaddr_storage remote{};
    ucs::fd socket = acceptor_.take(g.socket, &remote);
    if (!socket) {
        return;
    }
    const auto strangers = std::count_if(conns_.begin(), conns_.end(), [](const auto &conn) {
        return conn->link == nullptr && !conn->ended();
    });
    auto conn = std::make_unique<control_conn>(
        *this, std::move(socket), control_conn::phase::GREETING, g.rail, remote, worker_.now());
    const bool cut =
        g.rail >= 0 && worker_.rails()[static_cast<std::size_t>(g.rail)]->link_injected_down();
    if (cut || static_cast<std::size_t>(strangers) >= max_strangers) {
        conn->reset();
        return;
    }
    if (conn->begin() == UFX_OK) {
        conns_.push_back(std::move(conn));
    }
}

control_conn *control_path::open_to(const sockaddr_storage &remote, int rail, control_link *link,
                                    std::size_t target, int &error)
{
    ucs::fd socket(::socket(remote.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_storage local =
        rail >= 0 ? without_port(address_of(static_cast<unsigned>(rail))) : sockaddr_storage{};
    if (socket && local.ss_family == remote.ss_family) {
        if (::bind(socket.get(), reinterpret_cast<const sockaddr *>(&local), length_of(local)) !=
            0) {
            error = errno;
            return nullptr;
        }
    }
    if (!socket || (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&remote),
                              length_of(remote)) != 0 &&
                    errno != EINPROGRESS)) {
        error = errno;
        return nullptr;
    }
    auto conn = std::make_unique<control_conn>(
        *this, std::move(socket), control_conn::phase::CONNECTING, rail, remote, worker_.now());
    conn->link = link;
    conn->target = target;
    greet(*conn, link->uuid(), false);
    if (conn->begin() != UFX_OK) {
        error = EIO;
        return nullptr;
    }
    conns_.push_back(std::move(conn));
    link->add(*conns_.back());
    return conns_.back().get();
}

void control_path::greet(control_conn &conn, std::uint64_t dst, bool reply)
{
    core::hello_msg hello;
    hello.is_reply = reply;
    hello.address = encode(worker_.make_address());
    conn.send(frame_control({worker_.uuid(), dst}, hello));
}

// ---- Messages ------------------------------------------------------------------------------

void control_path::on_garbage(control_conn &conn)
{
    ufx_warn("control: %s does not speak the control protocol: connection closed",
             text_of(conn.remote()).c_str());
}

void control_path::refuse_version(control_conn &conn, std::uint64_t from, bool answer)
{
    ufx_error("control: %s speaks another version of the protocol than this side (%u)",
              text_of(conn.remote()).c_str(), core::control_version);
    if (conn.link != nullptr) { // before the connection ends, and with it its link
        conn.link->other_version(conn);
    }
    if (answer) {
        greet(conn, from, true);
        conn.close_after_flush();
        conn.send({});
    }
}

void control_path::on_frame(control_conn &conn, std::span<const std::uint8_t> message)
{
    const auto frame = core::decode(std::as_bytes(message));
    if (!frame) {
        if (frame.error() == UFX_ERR_VERSION) {
            refuse_version(conn, 0, true);
            return;
        }
        ufx_warn("control: %s sent a message that does not parse: connection closed",
                 text_of(conn.remote()).c_str());
        conn.reset();
        return;
    }
    const core::control_envelope &envelope = frame->envelope;
    if (const auto *hello = std::get_if<core::hello_msg>(&frame->msg)) {
        on_hello(conn, envelope, *hello);
        return;
    }
    if (conn.link == nullptr || conn.link->uuid() != envelope.from ||
        envelope.to != worker_.uuid()) {
        return; // before HELLO, or for another worker
    }
    conn.link->heard();
    if (peer *p = conn.link->remote()) {
        p->on_control(frame->msg);
    }
}

void control_path::on_hello(control_conn &conn, const core::control_envelope &envelope,
                            const core::hello_msg &hello)
{
    if (envelope.to != 0 && envelope.to != worker_.uuid()) {
        greet(conn, envelope.from, true); // tells it that its peer has gone
        conn.close_after_flush();
        conn.send({});
        return;
    }
    if (hello.min_version > core::control_version || hello.max_version < core::control_version) {
        refuse_version(conn, envelope.from, !hello.is_reply);
        return;
    }
    if (hello.address.empty()) { // a sign of life is asked for, or given
        if (conn.link != nullptr) {
            conn.link->heard();
            if (!hello.is_reply) {
                core::hello_msg answer;
                answer.is_reply = true;
                conn.send(frame_control({worker_.uuid(), envelope.from}, answer));
            }
        }
        return;
    }
    const auto address = decode_worker_address(hello.address);
    if (!address || address->uuid != envelope.from) {
        on_garbage(conn);
        conn.reset();
        return;
    }
    if (conn.link != nullptr && conn.link->uuid() != 0 && conn.link->uuid() != envelope.from) {
        conn.link->another_uuid();
        conn.reset();
        return;
    }
    introduce(conn, *address, !hello.is_reply);
}

// Who invents identities must not fill the memory with them.
bool control_path::takes_guest(std::uint64_t uuid)
{
    const auto &peers = worker_.peers();
    if (peers.size() < max_guests || worker_.find_peer(uuid) != nullptr) {
        return true;
    }
    const auto guests = static_cast<std::size_t>(
        std::count_if(peers.begin(), peers.end(), [](const auto &p) { return !p->has_eps(); }));
    if (guests >= max_guests && !told_of_guests_) {
        told_of_guests_ = true;
        ufx_warn("more than %zu workers connect and make no ep: further ones are sent away",
                 max_guests);
    }
    return guests < max_guests;
}

// The other side has said who it is.
void control_path::introduce(control_conn &conn, const worker_address &address, bool answer)
{
    if (address.uuid == worker_.uuid() && conn.link != nullptr && conn.link->uuid() == 0) {
        conn.link->fail_waiting(UFX_ERR_UNREACHABLE, UFX_UCP_REFUSED_NONE,
                                "a worker reaches itself by its address, not by its listener");
        conn.reset();
        return;
    }
    if (conn.link == nullptr && !takes_guest(address.uuid)) {
        conn.reset();
        return;
    }
    const auto found = worker_.get_peer(address);
    if (!found) {
        conn.reset();
        return;
    }
    for (const rail_address &rail : address.rails) {
        (*found)->learn_address(rail, 0);
    }
    if (conn.link != nullptr && conn.link->uuid() == 0) {
        join_waiting(conn, **found);
    }
    control_link *link = find_link(address.uuid);
    if (link != nullptr && conn.link != link) {
        conn.link = link;
        link->add(conn);
    }
    if (answer) {
        greet(conn, address.uuid, true);
    }
    // Without a link this worker talks to itself.
    if (link != nullptr && conn.where() != control_conn::phase::OPEN) {
        link->opened(conn);
    }
}

// The other side of a link by sockaddr has said who it is.
void control_path::join_waiting(control_conn &conn, peer &found)
{
    control_link *prospect = std::exchange(conn.link, nullptr);
    const std::vector<ep *> joining = std::exchange(prospect->waiting, {});
    prospect->ended(conn);
    prospect->finish();
    for (ep *e : joining) {
        e->join(found, 0, e->connection());
    }
}

void control_path::on_lane_part(std::span<const std::uint8_t> bytes)
{
    const auto part = parse_control_part(bytes);
    control_link *link = part ? find_link(part->from) : nullptr;
    if (link == nullptr || link->remote() == nullptr) {
        return;
    }
    link->heard_by_lane(worker_.now());
    const auto whole = link->remote()->take_part(*part);
    const auto frame = core::decode(std::as_bytes(whole));
    if (frame && frame->envelope.from == link->uuid() && frame->envelope.to == worker_.uuid() &&
        !std::holds_alternative<core::hello_msg>(frame->msg)) {
        link->remote()->on_control(frame->msg);
    }
}

bool control_path::gather(control_conn &conn)
{
    const bool is_in = std::find(gathered_.begin(), gathered_.end(), &conn) != gathered_.end();
    return gathers_ && (is_in || ucs::guard([&] { gathered_.push_back(&conn); }) == UFX_OK);
}

// What is written may end the connection, and that may send by another.
void control_path::flush()
{
    while (!gathered_.empty()) {
        control_conn &conn = *gathered_.back();
        gathered_.pop_back();
        conn.flush();
    }
}

void control_path::on_end(control_conn &conn)
{
    swept_ = false;
    std::erase(gathered_, &conn);
    if (conn.link != nullptr) {
        conn.link->ended(conn);
        conn.link = nullptr;
    }
}

void control_path::sweep()
{
    for (const auto &link : links_) {
        if (link->finished()) {
            link->cut();
        }
    }
    if (!swept_) {
        swept_ = true;
        std::erase_if(conns_, [](const auto &conn) { return conn->ended(); });
    }
    std::erase_if(links_, [](const auto &l) { return l->finished(); });
}

// ---- Links ---------------------------------------------------------------------------------

control_link &control_path::link_to(const worker_address &address, peer &p)
{
    if (control_link *there = find_link(address.uuid)) {
        return *there;
    }
    auto link = std::make_unique<control_link>(*this, address.uuid, &p);
    link->set_targets(p.control_targets());
    links_.push_back(std::move(link));
    return *links_.back();
}

control_link *control_path::find_link(std::uint64_t uuid) const
{
    for (const auto &link : links_) {
        if (link->uuid() == uuid && uuid != 0 && !link->finished()) {
            return link.get();
        }
    }
    return nullptr;
}

void control_path::connect_sockaddr(ep &e, const sockaddr_storage &remote)
{
    auto link = std::make_unique<control_link>(*this, 0, nullptr);
    link->set_targets({{-1, remote, false}});
    link->waiting.push_back(&e);
    links_.push_back(std::move(link));
}

void control_path::forget_ep(ep &e)
{
    for (const auto &link : links_) {
        std::erase(link->waiting, &e);
        if (link->uuid() == 0 && link->waiting.empty()) {
            link->finish();
        }
    }
}

void control_path::send(peer &p, const core::control_msg &msg, unsigned attempt)
{
    const int copies = filter.copies ? filter.copies(p.uuid(), msg) : 1;
    control_link *link = find_link(p.uuid());
    if (link == nullptr || copies == 0) {
        return;
    }
    const std::vector<std::uint8_t> frame = frame_control({worker_.uuid(), p.uuid()}, msg);
    for (int i = 0; i < copies; ++i) {
        const bool everywhere =
            (attempt > 0 || link->wants_lanes(worker_.now())) && !mutated(mutant::CONTROL_ONE_WAY);
        if (everywhere && !std::holds_alternative<core::hello_msg>(msg)) {
            p.send_over_lanes(std::span(frame).subspan(control_frame_size));
        }
        if (!filter.only_lanes) {
            link->send(frame, attempt);
        }
    }
}

void control_path::set_link(unsigned rail, bool up)
{
    for (std::size_t i = 0; !up && i < conns_.size(); ++i) {
        if (conns_[i]->rail() == static_cast<int>(rail) && !conns_[i]->ended()) {
            conns_[i]->reset();
        }
    }
}

void control_path::tick(core::time_ns now)
{
    for (std::size_t i = 0; i < conns_.size(); ++i) {
        if (conns_[i]->link == nullptr && !conns_[i]->ended() &&
            now - conns_[i]->since() > stranger_limit_ns) {
            conns_[i]->reset();
        }
    }
    for (std::size_t i = 0; i < links_.size(); ++i) {
        links_[i]->tick(now);
    }
    sweep();
}

bool control_path::busy() const
{
    return !swept_ ||
           std::any_of(links_.begin(), links_.end(), [](const auto &link) { return link->busy(); });
}

std::size_t control_path::open_connections(std::uint64_t uuid) const
{
    const control_link *link = find_link(uuid);
    return link != nullptr ? link->open_count() : 0;
}

} // namespace ufx::ucp
