// SPDX-License-Identifier: BSD-3-Clause
// ufx_perftest: measures transports and endpoints; `ufx_perftest failover` proves failover.
#include "tools/failover/main.h"
#include "tools/common/channel.h"
#include "tools/common/error.h"
#include "tools/common/output_file.h"
#include "tools/common/signals.h"
#include "tools/common/socket.h"
#include "tools/perftest/measure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <ufx/version.h>

namespace ufx::tools::perftest {

namespace {

constexpr int HANDSHAKE_MS = 10000;

std::unique_ptr<port> make_port(const options &wanted)
{
    return wanted.what->layer == api::UCT ? make_uct_port(wanted) : make_ucp_port(wanted);
}

void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0) {
        return;
    }
    if (cpu < CPU_SETSIZE) {
        CPU_SET(static_cast<unsigned>(cpu), &set);
    }
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
        throw usage_error("-c: cannot run on CPU " + std::to_string(cpu) + ": " +
                          std::strerror(errno));
    }
}

void run_client(const options &wanted)
{
    try_output(wanted.json);
    channel peer(connect_to(wanted.host, wanted.port, HANDSHAKE_MS));
    const std::unique_ptr<port> mine = make_port(wanted);
    fields hello = {{"tool", "perftest"}, {"version", UFX_VERSION_STRING}};
    write_options(wanted, hello);
    mine->describe(hello);
    peer.send(frame_type::HELLO, hello);
    mine->connect(peer.expect(frame_type::READY, HANDSHAKE_MS));
    peer.send(frame_type::START, fields());
    expect(*mine, peer, frame_type::START, HANDSHAKE_MS);
    measure(wanted, *mine, &peer);
    expect(*mine, peer, frame_type::RESULT, HANDSHAKE_MS);
    judge(wanted, *mine);
}

void serve(options wanted, channel &peer)
{
    const fields hello = peer.expect(frame_type::HELLO, HANDSHAKE_MS);
    if (hello.text("tool") != "perftest") {
        throw tool_error("the peer runs another test: start `ufx_perftest failover` here for it");
    }
    read_options(hello, wanted);
    const std::unique_ptr<port> mine = make_port(wanted);
    fields ready;
    mine->describe(ready);
    peer.send(frame_type::READY, ready);
    mine->connect(hello);
    expect(*mine, peer, frame_type::START, HANDSHAKE_MS);
    peer.send(frame_type::START, fields());
    answer(wanted, *mine, peer);
    judge(wanted, *mine);
    peer.send(frame_type::RESULT, fields());
}

void run_server(const options &wanted)
{
    const fd listener = listen_on(wanted.port);
    std::printf("waiting for a client on port %u\n", wanted.port);
    std::fflush(stdout);
    channel peer(accept_from(listener, interrupted));
    try {
        serve(wanted, peer);
    } catch (const tool_error &error) {
        try {
            peer.send(frame_type::ERROR, {{"text", error.what()}});
        } catch (const tool_error &) {
            // The peer is gone: the first error is the one to tell.
        }
        throw;
    }
}

void run_loopback(const options &wanted)
{
    try_output(wanted.json);
    const std::unique_ptr<port> mine = make_port(wanted);
    fields description;
    mine->describe(description);
    mine->connect(description);
    measure(wanted, *mine, nullptr);
    judge(wanted, *mine);
}

int run(int argc, char **argv)
{
    if (argc > 1 && std::strcmp(argv[1], "failover") == 0) {
        return failover::failover_main(argc - 1, argv + 1);
    }
    const options wanted = parse_options(argc, argv);
    catch_signals();
    pin(wanted.cpu);
    if (wanted.loopback) {
        run_loopback(wanted);
    } else if (wanted.host.empty()) {
        run_server(wanted);
    } else {
        run_client(wanted);
    }
    return EXIT_FINE;
}

} // namespace

} // namespace ufx::tools::perftest

int main(int argc, char **argv)
{
    return ufx::tools::guarded_main("ufx_perftest", ufx::tools::perftest::run, argc, argv);
}
