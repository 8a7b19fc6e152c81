// SPDX-License-Identifier: BSD-3-Clause
// Random 64-bit identities.
#ifndef UFX_UCS_UUID_H
#define UFX_UCS_UUID_H

#include <cstdint>

namespace ufx::ucs {

// From getrandom(); never 0.
[[nodiscard]] uint64_t random_uuid() noexcept;

} // namespace ufx::ucs

#endif
