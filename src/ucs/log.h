// SPDX-License-Identifier: BSD-3-Clause
// The log macros, with the level test inline and the arguments evaluated only when it passes.
#ifndef UFX_UCS_LOG_H
#define UFX_UCS_LOG_H

#include <ufx/ucs.h>

#include <atomic>
#include <cstdint>

// The level in effect, kept in libufx_ucs. It starts above every level, so that the first line
// reaches ufx_ucs_log(), which reads UFX_LOG_LEVEL. Relaxed: a late change loses or adds a line.
extern "C" UFX_API std::atomic<int> ufx_ucs_log_threshold;

namespace ufx::ucs {

[[nodiscard]] inline bool log_enabled(ufx_ucs_log_level_t level) noexcept
{
    return __builtin_expect(
        ufx_ucs_log_threshold.load(std::memory_order_relaxed) >= static_cast<int>(level), 0);
}

// Forgets the level, which is read again for the next line. Only inside libufx_ucs.
void log_reload() noexcept;

// Lets one line through per interval and counts those that it held back. Single-threaded.
class log_rate {
public:
    explicit constexpr log_rate(uint64_t interval_ns) noexcept : interval_ns_(interval_ns) {}

    [[nodiscard]] bool allow(uint64_t now_ns) noexcept
    {
        if (started_ && now_ns - last_ns_ < interval_ns_) {
            held_back_++;
            return false;
        }
        started_ = true;
        last_ns_ = now_ns;
        return true;
    }

    // Lines held back since the last call; print it with the line that passes.
    [[nodiscard]] uint64_t take_held_back() noexcept
    {
        uint64_t count = held_back_;
        held_back_ = 0;
        return count;
    }

private:
    uint64_t interval_ns_;
    uint64_t last_ns_ = 0;
    uint64_t held_back_ = 0;
    bool started_ = false;
};

} // namespace ufx::ucs

#define UFX_LOG_AT(_level, ...)                                                                    \
    do {                                                                                           \
        if (::ufx::ucs::log_enabled(_level)) {                                                     \
            ufx_ucs_log(_level, __FILE__, __LINE__, __VA_ARGS__);                                  \
        }                                                                                          \
    } while (0)

#define ufx_fatal(...) UFX_LOG_AT(UFX_UCS_LOG_FATAL, __VA_ARGS__)
#define ufx_error(...) UFX_LOG_AT(UFX_UCS_LOG_ERROR, __VA_ARGS__)
#define ufx_warn(...) UFX_LOG_AT(UFX_UCS_LOG_WARN, __VA_ARGS__)
#define ufx_info(...) UFX_LOG_AT(UFX_UCS_LOG_INFO, __VA_ARGS__)
#define ufx_debug(...) UFX_LOG_AT(UFX_UCS_LOG_DEBUG, __VA_ARGS__)
#define ufx_trace(...) UFX_LOG_AT(UFX_UCS_LOG_TRACE, __VA_ARGS__)

#endif
