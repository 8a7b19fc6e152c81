// SPDX-License-Identifier: BSD-3-Clause
// The words of rules: actions with what they take, and the names of values.
#ifndef UFX_SWHCA_FAULTS_VOCABULARY_H
#define UFX_SWHCA_FAULTS_VOCABULARY_H

#include "rule.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace ufx::swhca {

enum class param_kind : uint8_t {
    NONE,
    NUMBER,
    OPTIONAL_NUMBER,
    ERRNO,    // a number or its name
    SYNDROME, // a number or the name of the status that a program sees
    DURATION,
    OPTIONAL_DURATION,
    RATE,
    SWITCH,
    EVENT,
    INDEX_AND_NUMBER,  // the range is that of the index
    INDEX_AND_ADDRESS, // the range is that of the index
};

// Both ends are part of it.
struct number_range {
    uint64_t least;
    uint64_t most;
};

struct action_word {
    std::string_view name;
    fault_action action;
    param_kind param;
    number_range range;
};

struct named_value {
    std::string_view name;
    uint64_t value;
};

inline constexpr number_range qpn_range = {1, psn_mask}; // both have 24 bits
inline constexpr number_range errno_range = {1, 133};    // the last that Linux has, EHWPOISON

[[nodiscard]] std::span<const action_word> action_words() noexcept;
[[nodiscard]] std::span<const named_value> event_words() noexcept;
[[nodiscard]] std::span<const named_value> syndrome_words() noexcept;
[[nodiscard]] std::span<const named_value> state_words() noexcept;

// Numbers of devices that any fabric may have.
[[nodiscard]] number_range hca_range() noexcept;

// False if there is no errno of that name.
[[nodiscard]] bool errno_of(std::string_view name, uint64_t &out) noexcept;

// The name of a value, or an empty one.
[[nodiscard]] std::string_view name_of(std::span<const named_value> words, uint64_t value) noexcept;

} // namespace ufx::swhca

#endif
