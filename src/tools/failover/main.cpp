// SPDX-License-Identifier: BSD-3-Clause
// Who runs where: both sides here, or one of them.
#include "tools/failover/main.h"

#include "tools/common/error.h"
#include "tools/common/output_file.h"
#include "tools/common/reception.h"
#include "tools/common/signals.h"
#include "tools/common/socket.h"
#include "tools/common/ucp_session.h"
#include "tools/failover/conductor.h"
#include "tools/failover/hca_faults.h"
#include "tools/failover/plot.h"
#include "tools/failover/receiver.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace ufx::tools::failover {

namespace {

constexpr int CONNECT_MS = 10000;
constexpr int HELLO_MS = 10000;
constexpr const char *LOOPBACK_RAILS = "lo:127.0.0.1,lo:127.0.0.2";

/** The receiver of a local run: this program again, ended with us. */
class child_receiver {
public:
    child_receiver(const options &wanted, const namespaces *inside)
    {
        int ends[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            throw system_error("cannot make a socket pair", errno);
        }
        ours_ = fd(ends[0]);
        const fd theirs(ends[1]);
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ < 0) {
            throw system_error("cannot fork", errno);
        }
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() == parent) {
                become_receiver(wanted, inside, theirs.get());
            }
            ::_exit(EXIT_RUN);
        }
    }

    ~child_receiver()
    {
        ours_.reset();
        if (pid_ > 0) {
            ::kill(pid_, SIGTERM);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    fd take_socket() { return std::move(ours_); }

    /** After its end; its own words are on stderr. */
    void wait()
    {
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        if (WIFSIGNALED(status)) {
            throw tool_error("the receiver was killed by signal " +
                             std::to_string(WTERMSIG(status)));
        }
    }

private:
    static void become_receiver(const options &wanted, const namespaces *inside, int socket)
    {
        try {
            if (inside != nullptr) {
                namespaces::enter(inside->receiver_name());
            }
        } catch (const tool_error &error) {
            std::fprintf(stderr, "%s\n", error.what());
            return;
        }
        const int inherited = ::dup(socket); // without close-on-exec
        std::vector<std::string> command = {
            "ufx_perftest", "failover",    "--channel-fd", std::to_string(inherited),
            "--output",     wanted.output, "--dev",        wanted.devices};
        if (!wanted.log.empty()) {
            command.insert(command.end(), {"--log", wanted.log});
        }
        std::vector<char *> argv;
        for (std::string &word : command) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        ::execv("/proc/self/exe", argv.data());
        std::fprintf(stderr, "ufx_perftest: cannot start the receiver\n");
    }

    fd ours_;
    pid_t pid_ = -1;
};

/** Namespaces of our own, if they are wanted and can be had; says why not. */
std::unique_ptr<namespaces> make_namespaces(const options &wanted)
{
    if (wanted.net == network::HERE || (wanted.net == network::AUTO && !wanted.devices.empty())) {
        return nullptr;
    }
    if (::geteuid() != 0) {
        if (wanted.net == network::NAMESPACES) {
            throw usage_error("--netns: only root can make network namespaces");
        }
        return nullptr;
    }
    try {
        return std::make_unique<namespaces>(wanted.netns_prefix, wanted.rate);
    } catch (const tool_error &error) {
        if (wanted.net == network::NAMESPACES || !wanted.rate.empty()) {
            throw; // what was asked for by name is not left out
        }
        std::fprintf(stderr, "ufx_perftest: no network namespaces (%s); going on over loopback\n",
                     error.what());
        return nullptr;
    }
}

/** Says before the run what could not be written after it. */
void try_outputs(const options &wanted)
{
    for (const std::string &path : {wanted.output, wanted.json, wanted.plot, wanted.log}) {
        try_output(path);
    }
    if (!wanted.plot.empty()) {
        try_plot(wanted.plot);
    }
}

/** One end that cannot use what it was given says so before the other one is bothered. */
void try_devices(const options &wanted)
{
    if (!wanted.devices.empty()) {
        const ucp_session trial(wanted.devices, "failover");
    }
}

int run_both(options wanted)
{
    const input_file input(wanted.input);
    try_outputs(wanted);
    const std::unique_ptr<namespaces> inside = make_namespaces(wanted);
    std::string network_text;
    if (inside != nullptr) {
        wanted.devices = namespaces::devices();
        network_text = "two namespaces, " + inside->sender_name() + " and " +
                       inside->receiver_name() + ", joined by two veth pairs";
    } else {
        if (!wanted.rate.empty()) {
            throw usage_error("--rate: is for a run in network namespaces, which this is not");
        }
        if (wanted.devices.empty()) {
            wanted.devices = LOOPBACK_RAILS;
        }
        network_text =
            (own_fabric().empty() ? "loopback, " : "software ConnectX, ") + wanted.devices;
    }
    std::fprintf(wanted.json == "-" ? stderr : stdout, "network: %s\n", network_text.c_str());
    std::fflush(stdout);
    child_receiver receiver(wanted, inside.get());
    channel peer(receiver.take_socket());
    if (inside != nullptr) {
        namespaces::enter(inside->sender_name());
    }
    const int status = conduct(wanted, input, peer, inside.get(), network_text);
    receiver.wait();
    return status;
}

int run_client(const options &wanted)
{
    const input_file input(wanted.input);
    try_outputs(wanted);
    try_devices(wanted);
    channel peer(connect_to(wanted.host, wanted.port, CONNECT_MS));
    return conduct(wanted, input, peer, nullptr, "the rails to " + wanted.host);
}

client wait_for_sender(uint16_t port)
{
    const std::string host = own_name(), number = std::to_string(port);
    reception door(listen_on(port), "failover",
                   "this receives a file; to be a server for measurements run `ufx_perftest -p " +
                       number + "` on " + host + " instead",
                   warn);
    say_waiting("sender", port, "ufx_perftest failover --input FILE " + host, options().port);
    return door.wait();
}

int run_server(const options &wanted)
{
    try_outputs(wanted);
    try_devices(wanted);
    client sender = wait_for_sender(wanted.port);
    const int status = run_receiver(wanted, sender.peer, sender.hello);
    std::printf(status == EXIT_FINE ? "received a whole file\n"
                                    : "what arrived is not as it was sent\n");
    return status;
}

} // namespace

int failover_main(int argc, char **argv)
{
    const options wanted = parse_options(argc, argv);
    catch_signals();
    if (wanted.channel_fd >= 0) {
        channel peer{fd(wanted.channel_fd)};
        try {
            const fields hello = peer.expect(frame_type::HELLO, HELLO_MS);
            run_receiver(wanted, peer, hello);
        } catch (const tool_error &) {
            return EXIT_RUN; // told to the sender, who tells the user, as it does the verdict
        }
        return EXIT_FINE;
    }
    if (wanted.input.empty()) {
        return run_server(wanted);
    }
    return wanted.host.empty() ? run_both(wanted) : run_client(wanted);
}

} // namespace ufx::tools::failover
