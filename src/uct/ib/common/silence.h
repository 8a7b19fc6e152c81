// SPDX-License-Identifier: BSD-3-Clause
// How long nothing was heard by somebody who listened.
#ifndef UFX_UCT_IB_COMMON_SILENCE_H
#define UFX_UCT_IB_COMMON_SILENCE_H

#include <algorithm>
#include <cstdint>

namespace ufx::uct::ib {

// Time between two looks counts in part only: whoever looks rarely, or was stopped, has not been
// listening.
class silence {
public:
    static constexpr uint64_t longest_gap_ns = 100'000'000;

    void start(uint64_t now_ns) noexcept
    {
        last_ns_ = now_ns;
        length_ns_ = 0;
    }

    // Nothing is there now; gives the length.
    uint64_t look(uint64_t now_ns) noexcept
    {
        length_ns_ += std::min(now_ns - last_ns_, longest_gap_ns);
        last_ns_ = now_ns;
        return length_ns_;
    }

    // How long to wait before the next look, if nothing comes, so that silence reaches `limit_ns`.
    [[nodiscard]] uint64_t next_look_ns(uint64_t limit_ns) const noexcept
    {
        return limit_ns <= length_ns_ ? 0 : std::min(limit_ns - length_ns_, longest_gap_ns);
    }

    // Something is there, though not what is waited for.
    void skip(uint64_t now_ns) noexcept { last_ns_ = now_ns; }

private:
    uint64_t last_ns_ = 0;
    uint64_t length_ns_ = 0;
};

} // namespace ufx::uct::ib

#endif
