// SPDX-License-Identifier: BSD-3-Clause
// The loops of a measurement.
#include "tools/perftest/measure.h"

#include "tools/common/error.h"
#include "tools/common/signals.h"
#include "tools/common/units.h"
#include "tools/perftest/report.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

namespace ufx::tools::perftest {

namespace {

// Progress calls between two looks at signals, the peer's connection and the port's health.
constexpr unsigned CHECK_EVERY = 4096;
constexpr uint64_t STUCK_NS = 60000000000;

/** Waits by progress, and looks around now and then. */
class waiter {
public:
    waiter(port &mine, channel *peer) : mine_(mine), peer_(peer) {}

    template <class Condition>
    void until(Condition done)
    {
        uint64_t since = 0;
        for (unsigned i = 1; !done(); i++) {
            mine_.progress();
            if (i % CHECK_EVERY == 0) {
                look_around(since);
            }
        }
    }

    /** True if the peer said that it is done. */
    bool peer_done() const noexcept { return peer_done_; }

private:
    void look_around(uint64_t &since)
    {
        throw_if_interrupted();
        mine_.check_health();
        if (peer_ != nullptr) {
            const std::optional<frame> message = peer_->poll();
            peer_done_ = peer_done_ || (message && message->type == frame_type::DONE);
        }
        const uint64_t now = now_ns();
        since = since == 0 ? now : since;
        if (now - since > STUCK_NS && !peer_done_ && mine_.outstanding() > 0) {
            throw tool_error("an operation does not complete within 60 s");
        }
    }

    port &mine_;
    channel *peer_;
    bool peer_done_ = false;
};

void post(port &mine, waiter &wait, uint64_t serial)
{
    wait.until([&] {
        const ufx_status_t status = mine.post(serial);
        if (status == UFX_ERR_NO_RESOURCE) {
            return false;
        }
        if (status < 0) {
            mine.check_health(); // knows why
        }
        check(status, "cannot post");
        return true;
    });
}

void flush(port &mine, waiter &wait)
{
    wait.until([&] { return mine.outstanding() == 0; });
    wait.until([&] {
        const ufx_status_t status = mine.flush();
        if (status != UFX_ERR_NO_RESOURCE) {
            check(status, "cannot flush");
            return true;
        }
        return false;
    });
    wait.until([&] { return mine.outstanding() == 0; });
}

/** Operations first+1 .. first+count, each counted if there is a reporter. */
void ping_pong(port &mine, waiter &wait, uint64_t first, uint64_t count, reporter *out)
{
    uint64_t before = now_ns();
    for (uint64_t serial = first + 1; serial <= first + count; serial++) {
        post(mine, wait, serial);
        wait.until([&] { return mine.seen(serial) && mine.outstanding() == 0; });
        if (out != nullptr) {
            const uint64_t now = now_ns();
            out->count(now, now - before);
            before = now;
        }
    }
}

void stream(port &mine, waiter &wait, const options &wanted, uint64_t first, uint64_t count,
            reporter *out)
{
    uint64_t before = now_ns();
    for (uint64_t serial = first + 1; serial <= first + count; serial++) {
        post(mine, wait, serial);
        // With a window of 1 an operation has ended before the next one starts.
        wait.until([&] { return mine.outstanding() < wanted.window; });
        if (out != nullptr) {
            const uint64_t now = now_ns();
            out->count(now, now - before);
            before = now;
        }
    }
    flush(mine, wait);
}

void run(port &mine, waiter &wait, const options &wanted, uint64_t first, uint64_t count,
         reporter *out)
{
    if (wanted.what->how == pattern::PING_PONG) {
        ping_pong(mine, wait, first, count, out);
    } else {
        stream(mine, wait, wanted, first, count, out);
    }
}

/** Each thread has its share of the operations, and a port of its own. */
void run_threads(const options &wanted, port &mine)
{
    struct share {
        std::unique_ptr<port> own;
        uint64_t first = 0, count = 0;
        std::exception_ptr failure;
    };
    std::vector<share> shares(wanted.threads);
    uint64_t first = wanted.warmup;
    for (uint64_t i = 0; i < shares.size(); i++) {
        const uint64_t count = (wanted.iterations + i) / shares.size();
        shares[i] = {mine.another(), first, count, nullptr};
        first += count;
    }
    std::vector<std::thread> threads;
    for (share &one : shares) {
        threads.emplace_back([&wanted, &one] {
            try {
                waiter wait(*one.own, nullptr);
                stream(*one.own, wait, wanted, one.first, one.count, nullptr);
            } catch (...) {
                one.failure = std::current_exception();
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const share &one : shares) {
        if (one.failure) {
            std::rethrow_exception(one.failure);
        }
    }
}

/** What this end can see when the last operation is over. */
bool is_right(const options &wanted, const port &mine)
{
    const bool is_target = wanted.host.empty() || wanted.what->how == pattern::PING_PONG;
    switch (wanted.what->op) {
    case operation::PUT:
        return !is_target ||
               is_pattern(mine.landing(), wanted.size, wanted.what->how == pattern::PING_PONG);
    case operation::GET:
        return (wanted.host.empty() && !wanted.loopback) ||
               is_pattern(mine.source(), wanted.size, false);
    case operation::FADD:
    case operation::CSWAP: {
        uint64_t value = 0;
        std::memcpy(&value, mine.landing(), sizeof(value));
        return !is_target || value == wanted.warmup + wanted.iterations;
    }
    case operation::AM:
        break;
    }
    return true;
}

} // namespace

void fill_pattern(unsigned char *to, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        to[i] = pattern_byte(i);
    }
}

bool is_pattern(const unsigned char *bytes, size_t length, bool marked)
{
    for (size_t i = 0; i + (marked ? 1 : 0) < length; i++) {
        if (bytes[i] != pattern_byte(i)) {
            return false;
        }
    }
    return true;
}

void measure(const options &wanted, port &mine, channel *peer)
{
    waiter wait(mine, peer);
    run(mine, wait, wanted, 0, wanted.warmup, nullptr);
    reporter out(wanted);
    out.start(now_ns());
    if (wanted.threads > 1) {
        run_threads(wanted, mine);
        out.add(wanted.iterations);
    } else {
        run(mine, wait, wanted, wanted.warmup, wanted.iterations, &out);
    }
    out.finish(now_ns());
    if (peer != nullptr) {
        peer->send(frame_type::DONE, fields());
    }
}

void answer(const options &wanted, port &mine, channel &peer)
{
    waiter wait(mine, &peer);
    if (wanted.what->how == pattern::PING_PONG) {
        for (uint64_t serial = 1; serial <= wanted.warmup + wanted.iterations; serial++) {
            wait.until([&] { return mine.seen(serial); });
            post(mine, wait, serial);
            wait.until([&] { return mine.outstanding() == 0; });
        }
        flush(mine, wait);
    }
    wait.until([&] { return wait.peer_done(); });
}

fields expect(port &mine, channel &peer, frame_type type, int timeout_ms)
{
    const uint64_t deadline = now_ns() + static_cast<uint64_t>(timeout_ms) * 1000000u;
    std::optional<frame> message;
    while (!(message = peer.poll())) {
        throw_if_interrupted();
        mine.progress();
        if (now_ns() > deadline) {
            throw tool_error("the peer does not answer within " +
                             std::to_string(timeout_ms / 1000) + " s");
        }
    }
    if (message->type != type) {
        throw tool_error("the peer sent a message that is not due");
    }
    return message->body;
}

void judge(const options &wanted, port &mine)
{
    if (!wanted.validate) {
        return;
    }
    if (mine.wrong() != 0) {
        throw tool_error("messages with wrong data: " + std::to_string(mine.wrong()), EXIT_VERDICT);
    }
    if (!is_right(wanted, mine)) {
        throw tool_error("memory does not hold what was sent", EXIT_VERDICT);
    }
}

} // namespace ufx::tools::perftest
