// SPDX-License-Identifier: BSD-3-Clause
// The failover matrix as data: at which step of an operation's life a fault happens, and where. The
// faults are those of tools/failover/hca_fault_table.h, the kinds of operations in operations.cpp.
#ifndef UFX_TEST_MATRIX_TABLES_H
#define UFX_TEST_MATRIX_TABLES_H

#include <span>

namespace ufx::matrix {

// When the fault comes.
struct step {
    const char *name;
    // A first fault, which leads there: a rule with %d for the device; nullptr: none.
    const char *first_fault = nullptr;
    // A trace point of ufx that is waited for, and how often it is passed; nullptr: none.
    const char *trace = nullptr;
    unsigned count = 0;
    // Without a trace point: how long both sides, or the receiver alone, go on from the posting to
    // the fault; and whether answers are lost meanwhile.
    unsigned wait_us = 0;
    bool sender_sleeps = false;
    bool answers_lost = false;
    // The fault comes before the operation is posted.
    bool is_before = false;
    // The operation is posted when the trace point is reached.
    bool starts_there = false;
};

// Whose device is hit.
enum class place { SENDER, RECEIVER, OTHER_RAIL };
inline constexpr place places[] = {place::SENDER, place::RECEIVER, place::OTHER_RAIL};
[[nodiscard]] const char *name_of(place where);

[[nodiscard]] std::span<const step> steps();

} // namespace ufx::matrix

#endif
