// SPDX-License-Identifier: BSD-3-Clause
// guarded_copy: memcpy that answers false where it would fault, if a handler of SIGSEGV helps.
#ifndef UFX_SWHCA_ENGINE_GUARDED_COPY_H
#define UFX_SWHCA_ENGINE_GUARDED_COPY_H

#include <cstddef>

namespace ufx::swhca {

// The last byte is stored last.
[[nodiscard]] bool guarded_copy(void *to, const void *from, size_t size) noexcept;

// For the handler of SIGSEGV and SIGBUS (installed with SA_NODEFER): if this thread is inside a
// guarded copy, makes that copy answer false and does not return.
void leave_guarded_copy() noexcept;

} // namespace ufx::swhca

#endif
