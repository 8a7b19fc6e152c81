// SPDX-License-Identifier: BSD-3-Clause
// log_capture: for tests, collects log lines instead of printing them.
#ifndef UFX_UCS_LOG_CAPTURE_H
#define UFX_UCS_LOG_CAPTURE_H

#include "log.h"

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace ufx::ucs {

// Collects from construction to destruction; one at a time in a process.
class log_capture {
public:
    struct line {
        ufx_ucs_log_level_t level;
        std::string text;
    };

    explicit log_capture(ufx_ucs_log_level_t level = UFX_UCS_LOG_INFO)
        : level_before_(ufx_ucs_log_get_level())
    {
        ufx_ucs_log_set_level(level);
        ufx_ucs_log_set_handler(&log_capture::on_line, this);
    }

    ~log_capture()
    {
        ufx_ucs_log_set_handler(nullptr, nullptr);
        ufx_ucs_log_set_level(level_before_);
    }

    log_capture(const log_capture &) = delete;
    log_capture &operator=(const log_capture &) = delete;

    // Lines that contain `part`, at any level.
    [[nodiscard]] size_t count(std::string_view part) const
    {
        std::lock_guard lock(mutex_);
        size_t found = 0;
        for (const line &one : lines_) {
            found += one.text.find(part) != std::string::npos ? 1 : 0;
        }
        return found;
    }

    // Lines of exactly this level that contain `part`.
    [[nodiscard]] size_t count(ufx_ucs_log_level_t level, std::string_view part = "") const
    {
        std::lock_guard lock(mutex_);
        size_t found = 0;
        for (const line &one : lines_) {
            found += one.level == level && one.text.find(part) != std::string::npos ? 1 : 0;
        }
        return found;
    }

    [[nodiscard]] std::vector<line> lines() const
    {
        std::lock_guard lock(mutex_);
        return lines_;
    }

    // All lines in one string, for INFO() in tests.
    [[nodiscard]] std::string text() const
    {
        std::lock_guard lock(mutex_);
        std::string all;
        for (const line &one : lines_) {
            all += std::string(ufx_ucs_log_level_name(one.level)) + " " + one.text + "\n";
        }
        return all;
    }

    void clear()
    {
        std::lock_guard lock(mutex_);
        lines_.clear();
    }

private:
    static void on_line(void *arg, ufx_ucs_log_level_t level, const char *, unsigned,
                        const char *message)
    {
        auto *self = static_cast<log_capture *>(arg);
        std::lock_guard lock(self->mutex_);
        self->lines_.push_back({level, message});
    }

    mutable std::mutex mutex_;
    std::vector<line> lines_;
    ufx_ucs_log_level_t level_before_;
};

} // namespace ufx::ucs

#endif
