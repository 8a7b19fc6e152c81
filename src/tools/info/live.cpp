// SPDX-License-Identifier: BSD-3-Clause
// Asking a live process.
#include "tools/info/live.h"

#include "tools/common/error.h"
#include "tools/common/fd.h"
#include "tools/common/nearest.h"
#include "tools/info/listing.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace ufx::tools::info {

namespace {

constexpr int ANSWER_MS = 5000; // a process that does not call progress does not answer
constexpr const char *SUFFIX = ".sock";

std::string usual_folder()
{
    const char *runtime = std::getenv("XDG_RUNTIME_DIR");
    return std::string(runtime != nullptr && *runtime != '\0' ? runtime : "/tmp") + "/ufx-" +
           std::to_string(::geteuid());
}

/** PID, or PID-N for another worker of that process. */
bool is_process(const std::string &text)
{
    return !text.empty() && text.find_first_not_of("0123456789-") == std::string::npos;
}

/** Those that have a socket. */
std::vector<std::string> processes(const std::string &folder)
{
    std::vector<std::string> found;
    const std::unique_ptr<DIR, int (*)(DIR *)> open(::opendir(folder.c_str()), ::closedir);
    while (open) {
        const dirent *entry = ::readdir(open.get());
        if (entry == nullptr) {
            break;
        }
        const std::string name = entry->d_name;
        const size_t end = name.rfind(SUFFIX);
        if (end != std::string::npos && is_process(name.substr(0, end))) {
            found.push_back(name.substr(0, end));
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string only_process(const std::string &folder)
{
    const std::vector<std::string> found = processes(folder);
    if (found.size() == 1) {
        return found[0];
    }
    std::string text = found.empty()
                           ? "no process runs with UFX_DEBUG_SOCKET=y (looked in " + folder + ")"
                           : "several processes may be looked into, name one:";
    for (const std::string &pid : found) {
        text += " " + pid;
    }
    throw tool_error(text, found.empty() ? EXIT_RUN : EXIT_USAGE);
}

fd connect_to_process(const std::string &folder, const std::string &pid)
{
    const std::string path = folder + "/" + pid + SUFFIX;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (!is_process(pid) || path.size() >= sizeof(address.sun_path)) {
        throw usage_error("'" + pid + "' is no process id");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket) {
        throw system_error("cannot make a socket", errno);
    }
    if (::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0) {
        throw tool_error("cannot look into process " + pid + " (" + path +
                         "): " + std::strerror(errno) +
                         "; does it run, as your user, with UFX_DEBUG_SOCKET=y?");
    }
    return socket;
}

std::string ask(const std::string &folder, const std::string &pid, const std::string &request)
{
    const fd socket = connect_to_process(folder, pid);
    const std::string line = request + "\n";
    if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) {
        throw system_error("cannot ask process " + pid, errno);
    }
    std::string answer;
    char buffer[16384];
    for (;;) {
        pollfd wait = {socket.get(), POLLIN, 0};
        if (::poll(&wait, 1, ANSWER_MS) <= 0) {
            throw tool_error("process " + pid + " does not answer: it makes no progress calls");
        }
        const ssize_t n = ::recv(socket.get(), buffer, sizeof(buffer), 0);
        if (n < 0) {
            throw system_error("process " + pid + " does not answer", errno);
        }
        if (n == 0) {
            break;
        }
        answer.append(buffer, static_cast<size_t>(n));
    }
    if (answer.rfind("error: ", 0) == 0) {
        throw tool_error("process " + pid + ": " +
                         answer.substr(7, answer.find_last_not_of('\n') + 1 - 7));
    }
    return answer;
}

} // namespace

void dump_process(const std::string &folder, const std::string &pid, bool json)
{
    const std::string place = folder.empty() ? usual_folder() : folder;
    const std::string which = pid.empty() ? only_process(place) : pid;
    nlohmann::ordered_json state = parse_listing(ask(place, which, "dump json"));
    name_drained_rails(state);
    print_listing(state, json);
}

void change_rail(const std::string &folder, const std::string &rail,
                 const std::vector<std::string> &words)
{
    if (words.empty() || words.size() > 2) {
        throw usage_error("--rail: write --rail NAME drain|resume [PID]");
    }
    if (words[0] != "drain" && words[0] != "resume") {
        throw usage_error("--rail NAME drain|resume: " + none_of(words[0], {"drain", "resume"}));
    }
    if (rail.find_first_of(" \n") != std::string::npos) {
        throw usage_error("--rail: '" + rail + "' is no name of a rail");
    }
    const std::string place = folder.empty() ? usual_folder() : folder;
    const std::string which = words.size() == 2 ? words[1] : only_process(place);
    std::fputs(ask(place, which, "rail " + rail + " " + words[0]).c_str(), stdout);
}

} // namespace ufx::tools::info
