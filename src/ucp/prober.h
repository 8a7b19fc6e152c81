// SPDX-License-Identifier: BSD-3-Clause
// Tries a rail before it is used again: five writes and read-backs in a row over its probe lane.
#ifndef UFX_UCP_PROBER_H
#define UFX_UCP_PROBER_H

#include "ucp/core/types.h"

#include <ufx/uct.h>

namespace ufx::ucp {

class lane;

class prober {
public:
    static constexpr unsigned rounds = 5;

    explicit prober(lane &over);
    prober(const prober &) = delete;
    prober &operator=(const prober &) = delete;

    lane &over() const { return lane_; }
    // Posts what could not be posted before.
    void progress();

private:
    enum class step : std::uint8_t { WRITE, WRITING, READ, READING, OVER };
    struct completion : ufx_uct_completion_t {
        prober *self = nullptr;
    };
    static void on_done(ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    void post();
    void advance(ufx_status_t status);
    void report(bool ok);
    std::uint64_t *scratch(unsigned word);

    lane &lane_;
    step step_ = step::WRITE;
    unsigned round_ = 0;
    std::uint64_t stamp_;
    completion comp_{};
};

} // namespace ufx::ucp

#endif
