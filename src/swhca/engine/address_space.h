// SPDX-License-Identifier: BSD-3-Clause
// What this process may access: registering other memory must fail, as pinning would.
#ifndef UFX_SWHCA_ENGINE_ADDRESS_SPACE_H
#define UFX_SWHCA_ENGINE_ADDRESS_SPACE_H

#include <cstdint>

namespace ufx::swhca {

[[nodiscard]] bool is_accessible(uint64_t start, uint64_t length, bool write);

} // namespace ufx::swhca

#endif
