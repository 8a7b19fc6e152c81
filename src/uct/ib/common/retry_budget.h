// SPDX-License-Identifier: BSD-3-Clause
// How long an RC queue pair tries before it gives a peer up.
#ifndef UFX_UCT_IB_COMMON_RETRY_BUDGET_H
#define UFX_UCT_IB_COMMON_RETRY_BUDGET_H

#include <array>
#include <cstdint>

namespace ufx::uct::ib {

struct retry_budget {
    uint8_t timeout;       // ACK timeout is 4.096 us x 2^timeout; 0: none
    uint8_t retry_count;   // 0..7
    uint8_t rnr_retry;     // 0..7; 7: for ever
    uint8_t min_rnr_timer; // code of the InfiniBand specification, told to the peer

    // Time until RETRY_EXC without any answer. Nominal: a device may use up to four times as much.
    // 0: never.
    [[nodiscard]] uint64_t nominal_ns() const noexcept
    {
        return timeout == 0 ? 0 : (uint64_t{4096} << timeout) * (retry_count + 1u);
    }
};

// For the log: "timeout 14 (67 ms), 7 retries, 537 ms in all (nominal)".
[[nodiscard]] std::array<char, 160> describe(const retry_budget &budget) noexcept;

} // namespace ufx::uct::ib

#endif
