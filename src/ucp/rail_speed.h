// SPDX-License-Identifier: BSD-3-Clause
// How fast a port moves bytes, measured while it never runs out of them.
#ifndef UFX_UCP_RAIL_SPEED_H
#define UFX_UCP_RAIL_SPEED_H

#include "ucp/core/resend.h"

#include <cstdint>

namespace ufx::ucp {

// What a device says of itself is its link; the path behind it, and the other side, may be slower.
class rail_speed {
public:
    // As the device says, in bytes per second.
    void set_nominal(double bandwidth) { nominal_ = bandwidth > 1 ? bandwidth : 1; }

    // With less to do, a port may be waiting for its user.
    static constexpr std::uint64_t busy_bytes = 512 * 1024;
    // Completions of large fragments come in lumps.
    static constexpr core::time_ns shortest_ns = 10 * core::ms_ns;
    // Who carries little is not measured: after so long it is taken for twice as fast.
    static constexpr core::time_ns memory_ns = 1000 * core::ms_ns;

    // Now and then: how much has ended since the last call, and how much was under way at least.
    void look(core::time_ns now, std::uint64_t ended, std::uint64_t least)
    {
        if (measured_ > 0 && now - measured_at_ > memory_ns) {
            measured_ = 2 * measured_ < nominal_ ? 2 * measured_ : 0;
            measured_at_ = now;
        }
        if (least < busy_bytes) {
            since_ = 0;
            return;
        }
        if (since_ == 0) {
            since_ = now;
            bytes_ = 0;
            return;
        }
        bytes_ += ended;
        if (ended == 0 || now - since_ < shortest_ns) {
            return;
        }
        const double rate = static_cast<double>(bytes_) * 1e9 / static_cast<double>(now - since_);
        measured_ = measured_ > 0 ? (measured_ + rate) / 2 : rate;
        measured_at_ = since_ = now;
        bytes_ = 0;
    }

    double bytes_per_s() const { return measured_ > 0 ? measured_ : nominal_; }
    bool is_measured() const { return measured_ > 0; }

    void forget() { since_ = measured_ = 0; }

private:
    double nominal_ = 1;
    core::time_ns since_ = 0; // 0: it was not busy when it was looked at last
    std::uint64_t bytes_ = 0; // that ended since then
    double measured_ = 0; // 0: not yet
    core::time_ns measured_at_ = 0;
};

} // namespace ufx::ucp

#endif
