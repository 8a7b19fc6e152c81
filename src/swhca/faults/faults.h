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
// `state` is that to which a QP is modified.
[[nodiscard]] const fault_rule *match_command(core &world, uint32_t hca, uint32_t qpn,
                                              fault_action action, int state = any_state) noexcept;
// The errno by which a command fails, or 0.
[[nodiscard]] int injected_errno(core &world, uint32_t hca, uint32_t qpn, fault_action action,
                                 int state = any_state) noexcept;

// Whether the next work request of this QP, and with it all behind it, is not to be seen.
[[nodiscard]] bool swallows(core &world, qp &one) noexcept;

// 0, or ENOSPC if there are max_rules already.
[[nodiscard]] int add_rule(core &world, const fault_rule &rule) noexcept;
void clear_rules(core &world) noexcept;

// Carries out rules of devices and ports whose time has come, and ends those whose time is over;
// returns when the next is due, or UINT64_MAX.
uint64_t run_timed_rules(core &world) noexcept;

} // namespace ufx::swhca

#endif
