// SPDX-License-Identifier: BSD-3-Clause
// Matching what happens against the rules of a fabric. One generator decides probabilities, so that
// the same seed, rules and order of events give the same faults.
#ifndef UFX_SWHCA_FAULTS_FAULTS_H
#define UFX_SWHCA_FAULTS_FAULTS_H

#include "rule.h"

#include "swhca/model/core.h"
#include "swhca/wire/cqe.h"

#include <cstdint>

namespace ufx::swhca {

// The rule that hits, already counted, or nullptr. The pointer is good until a rule is added.
[[nodiscard]] const fault_rule *match_packet(core &world, const packet &what) noexcept;
[[nodiscard]] const fault_rule *match_completion(core &world, const qp &one,
                                                 const completion &what) noexcept;
[[nodiscard]] const fault_rule *match_command(core &world, uint32_t hca, uint32_t qpn,
                                              fault_action action) noexcept;
[[nodiscard]] bool match_swallow(core &world, const qp &one) noexcept;

// NO_RESOURCE errno-style: 0, or ENOSPC if there are max_rules already.
[[nodiscard]] int add_rule(core &world, const fault_rule &rule) noexcept;
void clear_rules(core &world) noexcept;

// Carries out rules of devices and ports whose time has come; returns when the next is due, or
// UINT64_MAX.
uint64_t run_timed_rules(core &world) noexcept;

} // namespace ufx::swhca

#endif
