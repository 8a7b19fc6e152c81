// SPDX-License-Identifier: BSD-3-Clause
// guarded_copy: memcpy that answers false where it would fault, if a handler of SIGSEGV helps.
#ifndef UFX_SWHCA_ENGINE_GUARDED_COPY_H
#define UFX_SWHCA_ENGINE_GUARDED_COPY_H

#include <cstddef>

namespace ufx::swhca {

// An aligned piece of 4 or 8 bytes, such as a doorbell record, is read and written by one access
// each. Otherwise the last byte is stored last.
[[nodiscard]] bool guarded_copy(void *to, const void *from, size_t size) noexcept;

// For the handler of SIGSEGV and SIGBUS, with its third argument: true if a guarded copy has
// faulted, which then answers false when the handler returns.
[[nodiscard]] bool leave_guarded_copy(void *ucontext) noexcept;

} // namespace ufx::swhca

#endif
