// SPDX-License-Identifier: BSD-3-Clause
// What copies and destroys actions.
#include "ucp/core/action.h"

namespace ufx::ucp::core {

action::action(const action &) = default;
action::action(action &&) noexcept = default;
action &action::operator=(const action &) = default;
action &action::operator=(action &&) noexcept = default;
action::~action() = default;

} // namespace ufx::ucp::core
