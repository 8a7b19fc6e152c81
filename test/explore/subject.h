// SPDX-License-Identifier: BSD-3-Clause
// The (ep, rail, epoch) by which a trace names a control message in flight.
#ifndef UFX_EXPLORE_SUBJECT_H
#define UFX_EXPLORE_SUBJECT_H

#include "ucp/core/control_msg.h"

#include <algorithm>

namespace ufx::explore {

namespace core = ufx::ucp::core;

// What DELIVER names a message by.
struct subject {
    core::ep_id ep = 0; // the same number on both sides
    core::rail_id rail = 0;
    std::uint32_t epoch = 0;
};

template <class M>
subject subject_of(const M &m)
{
    if constexpr (requires { m.lane; }) {
        return {std::max(m.lane.src_ep, m.lane.dst_ep), m.lane.rail, m.lane.epoch};
    } else if constexpr (requires { m.seal_id; }) {
        return {0, 0, static_cast<std::uint32_t>(m.seal_id)};
    } else if constexpr (requires { m.epoch; }) {
        return {0, m.rail, m.epoch};
    } else if constexpr (requires { m.serial; }) {
        return {0, 0, static_cast<std::uint32_t>(m.serial)};
    } else if constexpr (requires { m.src_ep; }) {
        return {m.src_ep, 0, 0};
    } else {
        return {};
    }
}

inline subject subject_of(const core::control_msg &msg)
{
    return std::visit([](const auto &m) { return subject_of(m); }, msg);
}

} // namespace ufx::explore

#endif
