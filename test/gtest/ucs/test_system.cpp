// SPDX-License-Identifier: BSD-3-Clause
// Modules, network interfaces, trace points.
#include "common/skip.h"
#include "ucs/log_capture.h"
#include "ucs/module.h"
#include "ucs/netlink_watch.h"
#include "ucs/trace_point.h"

#include "ucs/environment.h"

#include <algorithm>
#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace ufx;
namespace fs = std::filesystem;

namespace {

class folder {
public:
    folder()
    {
        char path[] = "/tmp/ufx_system_XXXXXX";
        REQUIRE(::mkdtemp(path) != nullptr);
        path_ = path;
    }

    ~folder() { fs::remove_all(path_); }

    [[nodiscard]] std::string path(const std::string &name = "") const
    {
        return name.empty() ? path_ : path_ + "/" + name;
    }

    void file(const std::string &name, const std::string &text = "") const
    {
        fs::create_directories(fs::path(path(name)).parent_path());
        std::ofstream(path(name)) << text;
    }

private:
    std::string path_;
};

std::string text_of(const ucs::net_address &from)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (from.address.ss_family == AF_INET) {
        const auto *in = reinterpret_cast<const sockaddr_in *>(&from.address);
        ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
    } else {
        const auto *in = reinterpret_cast<const sockaddr_in6 *>(&from.address);
        ::inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text));
    }
    return std::string(text) + "/" + std::to_string(from.prefix_length);
}

void note_event(void *arg, const ucs::net_event &event)
{
    const char *names[] = {"up", "down", "removed", "added", "deleted", "overrun"};
    std::string line = std::string(names[static_cast<size_t>(event.change)]) + " " + event.name;
    if (event.change == ucs::net_change::address_added ||
        event.change == ucs::net_change::address_removed) {
        line += " " + text_of(event.address);
    }
    static_cast<std::vector<std::string> *>(arg)->push_back(line);
}

// As root, or as root of a user namespace of its own.
bool enter_own_network()
{
    if (::unshare(CLONE_NEWNET) == 0) {
        return true;
    }
    std::string map = "0 " + std::to_string(::getuid()) + " 1";
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
        return false;
    }
    std::ofstream("/proc/self/uid_map") << map;
    return true;
}

// Runs in a child in its own network namespace; 0, 77 for "cannot", or the number of the step.
int watch_changes()
{
    if (!enter_own_network()) {
        return 77;
    }
    if (std::system("ip link add ufxa type veth peer name ufxb 2>/dev/null") != 0) {
        return 77;
    }
    std::vector<std::string> events;
    auto watch = ucs::netlink_watch::create(note_event, &events);
    if (!watch) {
        return watch.error() == UFX_ERR_UNSUPPORTED ? 77 : 1;
    }
    auto expect = [&](const char *command, const std::string &line) {
        events.clear();
        if (std::system(command) != 0) {
            return false;
        }
        while (std::find(events.begin(), events.end(), line) == events.end()) {
            pollfd one = {(*watch)->event_fd(), POLLIN, 0};
            if (::poll(&one, 1, 5000) != 1 || !(*watch)->dispatch()) {
                return false;
            }
        }
        return true;
    };
    const std::pair<const char *, const char *> steps[] = {
        {"ip link set ufxb up && ip link set ufxa up", "up ufxa"},
        {"ip addr add 10.9.8.7/24 dev ufxa", "added ufxa 10.9.8.7/24"},
        {"ip addr add fd00::7/64 dev ufxa", "added ufxa fd00::7/64"},
        {"ip addr del 10.9.8.7/24 dev ufxa", "deleted ufxa 10.9.8.7/24"},
        {"ip link set ufxa down", "down ufxa"},
        {"ip link del ufxa", "removed ufxa"},
    };
    int number = 2;
    for (const auto &[command, line] : steps) {
        if (!expect(command, line)) {
            return number;
        }
        number++;
    }
    return 0;
}

struct ended {
    bool stopped = false;
    int signal = 0;
    std::string output;
};

// Hits trace points in a child and tells how it ended.
ended hit_in_child(const char *stop, bool kill, const std::vector<const char *> &hits)
{
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::setenv("UFX_TRACE_STOP", stop, 1);
        ::setenv("UFX_TRACE_FD", std::to_string(ends[1]).c_str(), 1);
        ::setenv("UFX_TRACE_KILL", kill ? "y" : "n", 1);
        ufx_ucs_trace_reset();
        for (const char *name : hits) {
            ucs::trace_point(name);
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    ended how;
    int status = 0;
    REQUIRE(::waitpid(child, &status, WUNTRACED) == child);
    if (WIFSTOPPED(status)) {
        how.stopped = true;
        how.signal = WSTOPSIG(status);
        ::kill(child, SIGCONT);
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    } else if (WIFSIGNALED(status)) {
        how.signal = WTERMSIG(status);
    }
    char text[64];
    ssize_t size = ::read(ends[0], text, sizeof(text));
    how.output = std::string(text, size > 0 ? static_cast<size_t>(size) : 0);
    ::close(ends[0]);
    return how;
}

} // namespace

TEST_CASE("module: folders are searched beside the library, then by the environment",
          "[ucs][module]")
{
    test::environment own("UFX_MODULE_DIR", "/opt/one");
    test::environment plugins("UFX_PLUGIN_PATH", "/opt/two::/opt/three:/opt/one");
    auto folders = ucs::module_folders(reinterpret_cast<const void *>(&ufx_ucs_version));
    REQUIRE(folders.size() == 5);
    CHECK(folders[0] == folders[1] + "/ufx");
    CHECK(folders[2] == "/opt/one");
    CHECK(folders[3] == "/opt/two");
    CHECK(folders[4] == "/opt/three");
}

TEST_CASE("module: files are found by name, the first of equal names wins", "[ucs][module]")
{
    folder files;
    files.file("a/libufx_uct_b.so.0");
    files.file("a/libufx_uct_a.so.0");
    files.file("a/libufx_uct_c.so");
    files.file("a/libufx_uct.so.0");
    files.file("b/libufx_uct_a.so.0");
    files.file("b/libufx_uct_z.so.0");
    auto found = ucs::find_modules({files.path("a"), files.path("none"), files.path("b")},
                                   "libufx_uct_", ".so.0");
    CHECK(found == std::vector<std::string>{files.path("a/libufx_uct_a.so.0"),
                                            files.path("a/libufx_uct_b.so.0"),
                                            files.path("b/libufx_uct_z.so.0")});
}

TEST_CASE("module: one that does not load is one warning with the reason", "[ucs][module]")
{
    folder files;
    files.file("broken.so", "this is not a library");
    ucs::log_capture log;
    CHECK_FALSE(ucs::load_module(files.path("broken.so"), "x"));
    CHECK(log.lines().size() == 1);
    CHECK(log.count(UFX_UCS_LOG_WARN, "broken.so") == 1);
    CHECK_FALSE(ucs::load_module(files.path("missing.so"), "x"));
    CHECK(log.count("missing.so") == 1);
}

TEST_CASE("module: a symbol of a library is found, a missing one is a warning", "[ucs][module]")
{
    ucs::log_capture log;
    auto found = ucs::load_module("libm.so.6", "cos");
    REQUIRE(found);
    CHECK(*found != nullptr);
    CHECK(ucs::load_module("libm.so.6", "no_such_symbol").error() == UFX_ERR_NO_ELEM);
    CHECK(log.count(UFX_UCS_LOG_WARN, "no_such_symbol") == 1);
}

TEST_CASE("netlink: lo is listed with its address", "[ucs][netlink]")
{
    auto all = ucs::list_interfaces();
    if (!all && all.error() == UFX_ERR_UNSUPPORTED) {
        test::skip("built without libnl");
        return;
    }
    REQUIRE(all);
    auto lo = std::find_if(all->begin(), all->end(), [](const auto &one) { return one.loopback; });
    REQUIRE(lo != all->end());
    CHECK(lo->name == "lo");
    CHECK(lo->index > 0);
    CHECK(lo->mtu >= 1500);
    CHECK(lo->up);
    bool has_home = std::any_of(lo->addresses.begin(), lo->addresses.end(),
                                [](const auto &one) { return text_of(one) == "127.0.0.1/8"; });
    CHECK(has_home);
}

TEST_CASE("netlink: link and address changes are seen", "[ucs][netlink]")
{
    pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::_exit(watch_changes());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        test::skip("no network namespace, no veth, or no libnl");
        return;
    }
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("trace point: the process stops at the named one and tells so", "[ucs][trace]")
{
    ended how = hit_in_child("seal_sent", false, {"other", "seal_sent", "seal_sent"});
    CHECK(how.stopped);
    CHECK(how.signal == SIGSTOP);
    CHECK(how.output == "seal_sent\n");
}

TEST_CASE("trace point: a count and SIGKILL", "[ucs][trace]")
{
    ended how = hit_in_child("probe:3", true, {"probe", "probe", "probe"});
    CHECK_FALSE(how.stopped);
    CHECK(how.signal == SIGKILL);
    CHECK(how.output == "probe\n");
    how = hit_in_child("probe:3", true, {"probe", "probe"});
    CHECK(how.signal == 0);
    CHECK(how.output.empty());
}

TEST_CASE("trace point: without the variable it disarms itself", "[ucs][trace]")
{
    ::unsetenv("UFX_TRACE_STOP");
    ufx_ucs_trace_reset();
    CHECK(ufx_ucs_trace_armed.load());
    ucs::trace_point("anything");
    CHECK_FALSE(ufx_ucs_trace_armed.load());
}

TEST_CASE("trace point: a hook is told of each until it is taken away", "[ucs][trace]")
{
    ::unsetenv("UFX_TRACE_STOP");
    std::vector<std::string> told;
    ufx_ucs_trace_set_hook(
        [](void *arg, const char *name) {
            static_cast<std::vector<std::string> *>(arg)->emplace_back(name);
        },
        &told);
    ucs::trace_point("one");
    ucs::trace_point("two");
    CHECK(told == std::vector<std::string>{"one", "two"});
    ufx_ucs_trace_set_hook(nullptr, nullptr);
    ucs::trace_point("three");
    CHECK(told.size() == 2);
    CHECK_FALSE(ufx_ucs_trace_armed.load());
    ufx_ucs_trace_reset();
}

TEST_CASE("trace point: a wrong setting is one warning", "[ucs][trace]")
{
    test::environment stop("UFX_TRACE_STOP", "name:x");
    ufx_ucs_trace_reset();
    ucs::log_capture log;
    ucs::trace_point("name");
    ucs::trace_point("name");
    CHECK(log.count(UFX_UCS_LOG_WARN, "UFX_TRACE_STOP") == 1);
    stop.unset();
    ufx_ucs_trace_reset();
}
