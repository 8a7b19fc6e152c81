// SPDX-License-Identifier: BSD-3-Clause
// The wait of a server.
#include "tools/common/reception.h"

#include "tools/common/error.h"
#include "tools/common/signals.h"
#include "tools/common/socket.h"
#include "tools/common/units.h"

#include <iterator>
#include <poll.h>
#include <utility>
#include <vector>

namespace ufx::tools {

namespace {

constexpr int LOOK_MS = 200;

} // namespace

reception::reception(fd listener, std::string tool, std::string elsewhere, teller tell)
    : listener_(std::move(listener)), tool_(std::move(tool)), elsewhere_(std::move(elsewhere)),
      tell_(std::move(tell))
{
}

client reception::wait()
{
    for (;;) {
        throw_if_interrupted();
        if (std::optional<client> found = look(LOOK_MS, now_ns())) {
            return std::move(*found);
        }
    }
}

std::optional<client> reception::look(int timeout_ms, uint64_t now)
{
    std::vector<pollfd> wait = {{listener_.get(), POLLIN, 0}};
    for (const guest &one : guests_) {
        wait.push_back({one.peer.native(), POLLIN, 0});
    }
    ::poll(wait.data(), wait.size(), timeout_ms);
    admit(now);
    for (auto one = guests_.begin(); one != guests_.end();) {
        try {
            if (std::optional<fields> hello = hear(*one, now)) {
                client found = {std::move(one->peer), std::move(*hello)};
                guests_.erase(one);
                return found;
            }
            ++one;
        } catch (const tool_error &error) {
            send_away(*one, error.what());
            one = guests_.erase(one);
        }
    }
    return std::nullopt;
}

void reception::admit(uint64_t now)
{
    while (std::optional<connection> next = accept_one(listener_)) {
        if (guests_.size() == GUESTS) {
            send_away(guests_.front(), "too many others connect, and it has said nothing yet");
            guests_.pop_front();
        }
        guests_.push_back({channel(std::move(next->socket)), std::move(next->peer), now});
    }
}

/** Its hello, once it is whole; throws if this is no client of ours. */
std::optional<fields> reception::hear(guest &one, uint64_t now)
{
    const std::optional<frame> first = one.peer.poll();
    if (!first) {
        if (now - one.since_ns > SILENCE_NS) {
            throw tool_error("it says nothing");
        }
        return std::nullopt;
    }
    if (first->type != frame_type::HELLO) {
        throw tool_error("it does not begin with a hello");
    }
    if (first->body.text("tool") != tool_) {
        throw tool_error("the two ends run different tests: " + elsewhere_);
    }
    return first->body;
}

void reception::send_away(guest &one, const std::string &why)
{
    tell_("closed a connection from " + one.name + ", and waits on: " + why);
    try {
        one.peer.send(frame_type::ERROR, {{"text", why}});
    } catch (const tool_error &) {
        // It is gone already.
    }
}

} // namespace ufx::tools
