// SPDX-License-Identifier: BSD-3-Clause
// A run, as its sender sees it.
#include "tools/failover/conductor.h"

#include "tools/common/error.h"
#include "tools/common/output_file.h"
#include "tools/common/signals.h"
#include "tools/common/units.h"
#include "tools/failover/fault_driver.h"
#include "tools/failover/narrator.h"
#include "tools/failover/plot.h"
#include "tools/failover/report.h"

#include <cstdio>

namespace ufx::tools::failover {

namespace {

constexpr uint64_t MS = 1000000;
constexpr uint64_t TICK_NS = 10 * MS;       // resolution of what is measured
constexpr uint64_t CONNECT_NS = 10000 * MS; // until all rails are up
constexpr uint64_t STUCK_NS = 60000 * MS;   // nothing completes: longer than UFX_PEER_TIMEOUT
constexpr uint64_t RESULT_NS = 30000 * MS;  // the receiver reads its file back
constexpr int GOODBYE_MS = 3000;

class conductor {
public:
    conductor(const options &wanted, const input_file &input, channel &peer,
              const namespaces *inside)
        : wanted_(wanted), peer_(peer), session_(wanted.devices, "failover-sender"),
          sender_(wanted, input, session_), faults_(wanted.faults, inside, session_, peer),
          voice_(story_, wanted.quiet         ? nullptr
                         : wanted.json == "-" ? stderr
                                              : stdout)
    {
        session_.on_rail_event([this](const rail_event &event) { story_.add(event); });
    }

    /** All of it; the result is what the report is made of. */
    outcome run();

    const timeline &story() const noexcept { return story_; }
    void goodbye() { session_.close(UFX_UCP_CLOSE_FLUSH, GOODBYE_MS); }

private:
    void connect();
    void send();
    void drain();
    void step(bool more);
    void tick(uint64_t now);

    const options &wanted_;
    channel &peer_;
    timeline story_;
    ucp_session session_;
    sender sender_;
    fault_driver faults_;
    narrator voice_;
    uint64_t next_tick_ = 0;
};

outcome conductor::run()
{
    connect();
    send();
    drain();
    sender_.end();
    const uint64_t deadline = now_ns() + RESULT_NS;
    while (!sender_.result()) {
        step(false);
        if (now_ns() > deadline) {
            throw tool_error("the receiver does not say what it found");
        }
    }
    outcome result;
    result.wanted = &wanted_;
    result.story = &story_;
    result.received = *sender_.result();
    result.stats = session_.failover_stats();
    result.rails = session_.rails();
    result.chunks = sender_.chunks();
    result.bytes = sender_.bytes_done();
    result.longest_silence_ns = sender_.longest_silence_ns();
    return result;
}

void conductor::connect()
{
    sender_.handshake(peer_);
    const uint64_t deadline = now_ns() + CONNECT_NS;
    for (;;) {
        session_.progress(peer_.native(), 5);
        session_.throw_if_failed();
        throw_if_interrupted();
        peer_.poll();
        ufx_ucp_ep_attr_t attr = {};
        attr.field_mask = UFX_UCP_EP_ATTR_STATE | UFX_UCP_EP_ATTR_LANES;
        check(ufx_ucp_ep_query(session_.ep(), &attr), "cannot query the endpoint");
        if (attr.state == UFX_UCP_EP_CONNECTED && attr.lanes_live >= session_.rails().size()) {
            voice_.say("connected over %u rails\n", attr.lanes_live);
            return;
        }
        if (now_ns() > deadline) {
            throw tool_error("only " + std::to_string(attr.lanes_live) + " of " +
                             std::to_string(session_.rails().size()) +
                             " rails reach the peer within 10 s");
        }
    }
}

void conductor::send()
{
    const uint64_t begin = now_ns();
    const auto end = begin + static_cast<uint64_t>(wanted_.seconds * 1e9);
    story_.start(begin, session_.rails());
    sender_.begin();
    while (now_ns() < end || !sender_.whole()) {
        step(true);
    }
}

void conductor::drain()
{
    story_.finish(now_ns());
    while (!sender_.idle()) {
        step(false);
    }
}

void conductor::step(bool more)
{
    sender_.pump(more);
    session_.progress(peer_.native(), 2);
    const uint64_t now = now_ns();
    if (now < next_tick_) {
        return;
    }
    next_tick_ = now + TICK_NS;
    throw_if_interrupted();
    session_.throw_if_failed();
    sender_.throw_if_failed();
    if (peer_.poll()) {
        throw tool_error("the peer sent a message that is not due");
    }
    if (now > sender_.last_done_ns() + STUCK_NS) {
        throw tool_error("nothing was delivered for 60 s, " + std::to_string(sender_.in_flight()) +
                         " chunks are in flight");
    }
    if (more) {
        tick(now);
    } else {
        voice_.watch(now, session_.rails());
        story_.add(session_.failover_stats());
    }
}

void conductor::tick(uint64_t now)
{
    faults_.tick(now, story_);
    const std::vector<ufx_ucp_rail_attr_t> rails = session_.rails();
    story_.add(now, sender_.bytes_done(), rails);
    story_.add(session_.failover_stats());
    voice_.tick(now, rails, sender_.in_flight());
}

} // namespace

int conduct(const options &wanted, const input_file &input, channel &peer, const namespaces *inside,
            const std::string &network)
{
    conductor side(wanted, input, peer, inside);
    outcome run = side.run();
    side.goodbye();
    run.network = network;
    const report result = make_report(run);
    std::fputs(result.text.c_str(), wanted.json == "-" ? stderr : stdout);
    std::fflush(stdout);
    if (!wanted.json.empty()) {
        write_text(wanted.json, result.json);
    }
    if (!wanted.plot.empty()) {
        draw(side.story(), wanted.plot);
    }
    switch (result.judged) {
    case verdict::OK:
        return EXIT_FINE;
    case verdict::INCONCLUSIVE:
        return EXIT_INCONCLUSIVE;
    case verdict::FAILED:
        break;
    }
    return EXIT_VERDICT;
}

} // namespace ufx::tools::failover
