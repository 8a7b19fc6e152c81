// SPDX-License-Identifier: BSD-3-Clause
// Hellos: who connects, to which ep, and refusals that say why not.
#include "lobby.h"

#include "iface.h"

#include "ucs/clock.h"
#include "ucs/log.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace ufx::uct::tcp {

lobby::lobby(iface &owner, size_t max_sockets) : owner_(owner), seats_(max_sockets) {}

lobby::seat *lobby::free_seat() noexcept
{
    seat *oldest = nullptr;
    for (seat &one : seats_) {
        if (!one.socket) {
            return &one;
        }
        if (!one.hello && (oldest == nullptr || one.deadline_ns < oldest->deadline_ns)) {
            oldest = &one;
        }
    }
    if (oldest != nullptr) {
        leave(*oldest);
    }
    return oldest;
}

void lobby::admit(ucs::fd socket) noexcept
{
    seat *place = free_seat();
    if (place == nullptr) {
        return;
    }
    place->received = 0;
    place->hello = std::nullopt;
    place->deadline_ns =
        ucs::now_ns() + static_cast<uint64_t>(owner_.settings().connect_timeout.count());
    if (!owner_.watch_guest(socket, static_cast<size_t>(place - seats_.data()))) {
        return;
    }
    place->socket = std::move(socket);
    count_++;
}

void lobby::on_event(size_t place) noexcept
{
    if (place >= seats_.size() || !seats_[place].socket) {
        return;
    }
    seat &one = seats_[place];
    if (!one.hello) {
        read(one);
        return;
    }
    // A guest has nothing to say until it is welcome, so this is its end.
    std::byte probe;
    ssize_t got = recv(one.socket.get(), &probe, 1, MSG_PEEK);
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
        leave(one);
    }
}

void lobby::read(seat &from) noexcept
{
    ssize_t got = recv(from.socket.get(), from.bytes.data() + from.received,
                       from.bytes.size() - from.received, 0);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            leave(from);
        }
        return;
    }
    from.received += static_cast<size_t>(got);
    if (from.received < from.bytes.size()) {
        return;
    }
    from.hello = wire::decode_hello(from.bytes);
    if (!from.hello || from.hello->kind != wire::hello_kind::hello) {
        ufx_info("tcp: %s: closed a connection that does not speak our protocol",
                 owner_.local().name.c_str());
        leave(from);
        return;
    }
    introduce(from);
}

void lobby::introduce(seat &guest) noexcept
{
    const wire::hello &said = *guest.hello;
    if (said.version != wire::hello_version) {
        refuse(guest, wire::refusal::version);
        return;
    }
    ep *wanted = owner_.find(said.to.id);
    if (wanted == nullptr || wanted->own_id() != said.to) {
        refuse(guest, wire::refusal::no_such_ep);
    } else if (wanted->phase() == phase::idle) {
        return; // until look_for(), or the deadline
    } else if (wanted->peer_id() != said.from || wire::connects(said.to, said.from)) {
        refuse(guest, wire::refusal::wrong_peer);
    } else if (wanted->phase() != phase::waiting) {
        refuse(guest, wire::refusal::already_used);
    } else if (said.am_max != owner_.settings().am_max) {
        refuse(guest, wire::refusal::am_max);
        wanted->break_with({UFX_ERR_REJECTED, UFX_UCT_CAUSE_CONN_REFUSED}, 0,
                           wire::refusal_text(wire::refusal::am_max));
    } else {
        hand_over(guest, *wanted);
    }
}

void lobby::look_for(ep &waiting) noexcept
{
    for (seat &one : seats_) {
        if (one.socket && one.hello && one.hello->to == waiting.own_id()) {
            introduce(one);
        }
    }
}

void lobby::hand_over(seat &guest, ep &to) noexcept
{
    std::array<std::byte, wire::hello_size> welcome;
    wire::encode(
        wire::hello{.kind = wire::hello_kind::welcome, .from = to.own_id(), .to = to.peer_id()},
        welcome);
    if (send(guest.socket.get(), welcome.data(), welcome.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(welcome.size())) {
        leave(guest);
        return;
    }
    ucs::fd socket = std::move(guest.socket);
    count_--;
    owner_.unwatch(socket);
    to.adopt(std::move(socket));
}

void lobby::refuse(seat &guest, wire::refusal reason) noexcept
{
    ufx_info("tcp: %s: refused a connection: %s", owner_.local().name.c_str(),
             wire::refusal_text(reason));
    std::array<std::byte, wire::hello_size> answer;
    wire::encode(wire::hello{.kind = wire::hello_kind::refusal,
                             .reason = reason,
                             .from = guest.hello->to,
                             .to = guest.hello->from},
                 answer);
    (void)send(guest.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    leave(guest);
}

void lobby::expire(uint64_t now_ns) noexcept
{
    for (seat &one : seats_) {
        if (one.socket && one.deadline_ns <= now_ns) {
            if (one.hello) {
                refuse(one, wire::refusal::not_in_time);
            } else {
                leave(one);
            }
        }
    }
}

void lobby::leave(seat &one) noexcept
{
    one.socket.reset();
    count_--;
}

void lobby::clear() noexcept
{
    for (seat &one : seats_) {
        if (one.socket) {
            leave(one);
        }
    }
}

uint64_t lobby::next_deadline_ns() const noexcept
{
    uint64_t next = UINT64_MAX;
    for (const seat &one : seats_) {
        if (one.socket) {
            next = std::min(next, one.deadline_ns);
        }
    }
    return next;
}

} // namespace ufx::uct::tcp
