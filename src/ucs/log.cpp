// SPDX-License-Identifier: BSD-3-Clause
// State of the log: level, handler, output.
#include "log.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <strings.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

constexpr int threshold_unset = INT_MAX;
constexpr size_t message_limit = 1024;

constexpr const char *level_names[] = {"FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

// Guards the handler and the output; held while a line is written, so that set_handler() returns
// only when the earlier handler is not running.
std::mutex output_mutex;
ufx_ucs_log_handler_t output_handler = nullptr;
void *output_arg = nullptr;
int output_fd = STDERR_FILENO; // open until the process ends
thread_local bool inside_handler = false;

const char *base_name(const char *path) noexcept
{
    const char *slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

void open_output(const char *pattern)
{
    std::string path = pattern;
    if (size_t at = path.find("%p"); at != std::string::npos) {
        path.replace(at, 2, std::to_string(::getpid()));
    }
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) {
        ufx_ucs_config_reject("UFX_LOG_FILE", pattern, std::strerror(errno));
        return;
    }
    std::lock_guard lock(output_mutex);
    output_fd = fd;
}

void read_settings() noexcept
{
    // From here on lines pass by the default level: reading the settings may itself warn.
    int unset = threshold_unset;
    if (!ufx_ucs_log_threshold.compare_exchange_strong(unset, UFX_UCS_LOG_WARN,
                                                       std::memory_order_relaxed)) {
        return;
    }
    try {
        if (const char *file = ufx_ucs_config_get("UFX_LOG_FILE", nullptr);
            file != nullptr && *file != '\0') {
            open_output(file);
        }
        const char *text = ufx_ucs_config_get("UFX_LOG_LEVEL", nullptr);
        if (text == nullptr) {
            return;
        }
        for (int level = UFX_UCS_LOG_FATAL; level <= UFX_UCS_LOG_TRACE; level++) {
            if (::strcasecmp(text, level_names[level]) == 0) {
                ufx_ucs_log_threshold.store(level, std::memory_order_relaxed);
                return;
            }
        }
        ufx_ucs_config_reject("UFX_LOG_LEVEL", text,
                              "expected fatal, error, warn, info, debug or trace");
    } catch (const std::exception &) {
        // Out of memory: the defaults stand.
    }
}

void write_line(ufx_ucs_log_level_t level, const char *file, unsigned line, const char *message)
{
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    char head[160];
    int length = std::snprintf(head, sizeof(head), "[%lld.%06ld] [%d:%ld] %s:%u %s ",
                               static_cast<long long>(now.tv_sec), now.tv_nsec / 1000, ::getpid(),
                               ::syscall(SYS_gettid), file, line, level_names[level]);
    size_t head_size = length < 0 ? 0 : std::min(static_cast<size_t>(length), sizeof(head) - 1);
    char newline[] = "\n";
    iovec parts[] = {
        {head, head_size}, {const_cast<char *>(message), std::strlen(message)}, {newline, 1}};
    // A log that cannot be written has nowhere to say so.
    ssize_t written = ::writev(output_fd, parts, 3);
    static_cast<void>(written);
}

} // namespace

std::atomic<int> ufx_ucs_log_threshold{threshold_unset};

void ufx_ucs_log(ufx_ucs_log_level_t level, const char *file, unsigned line, const char *format,
                 ...) noexcept
{
    int saved = errno;
    if (level < UFX_UCS_LOG_FATAL || level > UFX_UCS_LOG_TRACE || ufx_ucs_log_get_level() < level) {
        return;
    }
    char message[message_limit];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof(message), format, args);
    va_end(args);

    if (inside_handler) {
        write_line(level, base_name(file), line, message);
    } else {
        std::lock_guard lock(output_mutex);
        if (output_handler != nullptr) {
            inside_handler = true;
            output_handler(output_arg, level, base_name(file), line, message);
            inside_handler = false;
        } else {
            write_line(level, base_name(file), line, message);
        }
    }
    errno = saved;
}

void ufx_ucs_log_set_handler(ufx_ucs_log_handler_t handler, void *arg) noexcept
{
    std::lock_guard lock(output_mutex);
    output_handler = handler;
    output_arg = arg;
}

void ufx_ucs_log_set_level(ufx_ucs_log_level_t level) noexcept
{
    ufx_ucs_log_threshold.store(level, std::memory_order_relaxed);
}

ufx_ucs_log_level_t ufx_ucs_log_get_level() noexcept
{
    if (ufx_ucs_log_threshold.load(std::memory_order_relaxed) == threshold_unset) {
        read_settings();
    }
    return static_cast<ufx_ucs_log_level_t>(ufx_ucs_log_threshold.load(std::memory_order_relaxed));
}

const char *ufx_ucs_log_level_name(ufx_ucs_log_level_t level) noexcept
{
    if (level < UFX_UCS_LOG_FATAL || level > UFX_UCS_LOG_TRACE) {
        return "UNKNOWN";
    }
    return level_names[level];
}

namespace ufx::ucs {

void log_reload() noexcept
{
    ufx_ucs_log_threshold.store(threshold_unset, std::memory_order_relaxed);
}

} // namespace ufx::ucs
