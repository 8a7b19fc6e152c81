// SPDX-License-Identifier: BSD-3-Clause
// Stops or kills the process at the trace point that UFX_TRACE_STOP names.
#include "trace_point.h"

#include "config_parse.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

struct trace_settings {
    bool read = false;
    char name[64] = {};
    int64_t left = 0; // hits until the process stops
    int fd = -1;
    bool kill = false;
};

std::mutex settings_mutex; // guards what follows
trace_settings settings;
ufx_ucs_trace_hook_t hook = nullptr;
void *hook_arg = nullptr;

bool copy_name(std::string_view name) noexcept
{
    if (name.empty() || name.size() >= sizeof(settings.name)) {
        return false;
    }
    std::memcpy(settings.name, name.data(), name.size());
    settings.name[name.size()] = '\0';
    return true;
}

void read_trigger() noexcept
{
    settings = {};
    settings.read = true;
    const char *stop = std::getenv("UFX_TRACE_STOP");
    if (stop == nullptr) {
        return;
    }
    std::string_view text = stop;
    size_t colon = text.find(':');
    int64_t count = 1;
    if (colon != std::string_view::npos &&
        (!ufx::ucs::parse_integer(text.substr(colon + 1), count) || count < 1)) {
        ufx_ucs_config_reject("UFX_TRACE_STOP", stop, "expected name or name:count");
        return;
    }
    if (!copy_name(text.substr(0, colon))) {
        ufx_ucs_config_reject("UFX_TRACE_STOP", stop, "the name is empty or too long");
        return;
    }
    settings.left = count;
    int64_t fd = -1;
    if (const char *number = std::getenv("UFX_TRACE_FD")) {
        if (ufx::ucs::parse_integer(number, fd) && fd >= 0 && fd <= INT32_MAX) {
            settings.fd = static_cast<int>(fd);
        } else {
            ufx_ucs_config_reject("UFX_TRACE_FD", number, "not a descriptor");
        }
    }
    const char *kill = std::getenv("UFX_TRACE_KILL");
    settings.kill = kill != nullptr && std::strcmp(kill, "y") == 0;
}

void report(const char *name) noexcept
{
    if (settings.fd < 0) {
        return;
    }
    char line[sizeof(settings.name) + 1];
    size_t size = std::strlen(name);
    std::memcpy(line, name, size);
    line[size] = '\n';
    while (::write(settings.fd, line, size + 1) < 0 && errno == EINTR) {
    }
}

} // namespace

std::atomic<bool> ufx_ucs_trace_armed{true};

void ufx_ucs_trace_hit(const char *name) noexcept
{
    std::lock_guard lock(settings_mutex);
    if (!settings.read) {
        read_trigger();
    }
    if (hook != nullptr) {
        hook(hook_arg, name);
    }
    if (settings.left == 0) {
        ufx_ucs_trace_armed.store(hook != nullptr, std::memory_order_relaxed);
        return;
    }
    if (std::strcmp(name, settings.name) != 0 || --settings.left > 0) {
        return;
    }
    report(name);
    // To this thread, so that it does not go one step further.
    ::raise(settings.kill ? SIGKILL : SIGSTOP);
}

void ufx_ucs_trace_set_hook(ufx_ucs_trace_hook_t wanted, void *arg) noexcept
{
    std::lock_guard lock(settings_mutex);
    hook = wanted;
    hook_arg = arg;
    ufx_ucs_trace_armed.store(true, std::memory_order_relaxed);
}

void ufx_ucs_trace_reset() noexcept
{
    std::lock_guard lock(settings_mutex);
    settings = {};
    ufx_ucs_trace_armed.store(true, std::memory_order_relaxed);
}
