// SPDX-License-Identifier: BSD-3-Clause
// ufx_perftest: measures transports and endpoints; `ufx_perftest failover` proves failover.
#include "tools/failover/main.h"
#include "tools/common/channel.h"
#include "tools/common/error.h"
#include "tools/common/network.h"
#include "tools/common/output_file.h"
#include "tools/common/reception.h"
#include "tools/common/signals.h"
#include "tools/common/socket.h"
#include "tools/common/ucp_session.h"
#include "tools/perftest/measure.h"
#include "tools/perftest/uct_device.h"
#include "tools/soak/main.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <ufx/version.h>

namespace ufx::tools::perftest {

namespace {

constexpr int HANDSHAKE_MS = 10000;

std::unique_ptr<port> make_port(const options &wanted, const fields *client)
{
    return wanted.what->layer == api::UCT ? make_uct_port(wanted, client)
                                          : make_ucp_port(wanted, client);
}

/** The port and what it says of itself; from here on `wanted` names what was chosen. */
std::unique_ptr<port> open_port(options &wanted, const fields *client, fields &description)
{
    std::unique_ptr<port> mine = make_port(wanted, client);
    mine->describe(description);
    wanted.transport = description.text("transport");
    wanted.device = description.text("device");
    return mine;
}

/** A server that cannot use what it was given says so before a client comes. */
void try_devices(const options &wanted)
{
    if (!wanted.transport.empty()) {
        uct_choice choice;
        choice.transport = wanted.transport;
        choice.device = wanted.device;
        const uct_device trial(choice, 1);
    } else if (!wanted.device.empty()) {
        const ucp_session trial(wanted.device, "perftest");
    }
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

void run_client(options wanted)
{
    try_output(wanted.json);
    wanted.near = interface_towards(wanted.host);
    fields hello = {{"tool", "perftest"}, {"version", UFX_VERSION_STRING}};
    write_options(wanted, hello);
    const std::unique_ptr<port> mine = open_port(wanted, nullptr, hello);
    channel peer(connect_to(wanted.host, wanted.port, HANDSHAKE_MS));
    peer.send(frame_type::HELLO, hello);
    mine->connect(peer.expect(frame_type::READY, HANDSHAKE_MS));
    peer.send(frame_type::START, fields());
    expect(*mine, peer, frame_type::START, HANDSHAKE_MS);
    measure(wanted, *mine, &peer);
    expect(*mine, peer, frame_type::RESULT, HANDSHAKE_MS);
    judge(wanted, *mine);
}

void serve(options wanted, channel &peer, const fields &hello)
{
    read_options(hello, wanted);
    wanted.near = interface_of_socket(peer.native());
    fields ready;
    const std::unique_ptr<port> mine = open_port(wanted, &hello, ready);
    peer.send(frame_type::READY, ready);
    mine->connect(hello);
    expect(*mine, peer, frame_type::START, HANDSHAKE_MS);
    peer.send(frame_type::START, fields());
    answer(wanted, *mine, peer);
    judge(wanted, *mine);
    peer.send(frame_type::RESULT, fields());
}

client wait_for_client(uint16_t port)
{
    const std::string host = own_name(), number = std::to_string(port);
    reception door(
        listen_on(port), "perftest",
        "this is a server for measurements; to receive a file run `ufx_perftest failover "
        "--output FILE -p " +
            number + "` on " + host + " instead",
        warn);
    say_waiting("client", port, "ufx_perftest " + host + " -t TEST", options().port);
    return door.wait();
}

void run_server(const options &wanted)
{
    try_devices(wanted);
    client guest = wait_for_client(wanted.port);
    channel &peer = guest.peer;
    try {
        serve(wanted, peer, guest.hello);
    } catch (const tool_error &error) {
        try {
            peer.send(frame_type::ERROR, {{"text", error.what()}});
        } catch (const tool_error &) {
            // The peer is gone: the first error is the one to tell.
        }
        throw;
    }
}

void run_loopback(options wanted)
{
    try_output(wanted.json);
    fields description;
    const std::unique_ptr<port> mine = open_port(wanted, nullptr, description);
    mine->connect(description);
    measure(wanted, *mine, nullptr);
    judge(wanted, *mine);
}

int run(int argc, char **argv)
{
    if (argc > 1 && std::strcmp(argv[1], "failover") == 0) {
        return failover::failover_main(argc - 1, argv + 1);
    }
    if (argc > 1 && std::strcmp(argv[1], "soak") == 0) {
        return soak::soak_main(argc - 1, argv + 1);
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
