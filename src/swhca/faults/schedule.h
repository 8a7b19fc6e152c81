// SPDX-License-Identifier: BSD-3-Clause
// The language of faults: one rule a line, words in any order around the action.
//
//     [at T] [every T] [until T] [hca N] [qpn N] ACTION [PARAM] [to STATE] [requests|responses]
//         [skip N] [count N] [probability P] [silent]
//
// docs/swhca.md lists the actions. `#` begins a comment.
#ifndef UFX_SWHCA_FAULTS_SCHEDULE_H
#define UFX_SWHCA_FAULTS_SCHEDULE_H

#include "rule.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ufx::swhca {

// False with one sentence in `why` if the line is no rule.
[[nodiscard]] bool parse_rule(std::string_view line, fault_rule &out, std::string &why);

struct scheduled_rule {
    size_t line;
    fault_rule rule;
};

// Empty lines and comments are skipped; `why` begins with the number of the line that is wrong.
[[nodiscard]] bool parse_schedule(std::string_view text, std::vector<scheduled_rule> &out,
                                  std::string &why);

[[nodiscard]] std::string_view action_name(fault_action action) noexcept;

// The rule in words that parse_rule() takes; times are rounded to milliseconds.
[[nodiscard]] std::string rule_text(const fault_rule &rule);

} // namespace ufx::swhca

#endif
