// SPDX-License-Identifier: BSD-3-Clause
// Copies to and from memory of the program that may not be accessible: an answer instead of a
// signal.
#ifndef UFX_UCS_GUARDED_COPY_H
#define UFX_UCS_GUARDED_COPY_H

#include <cstddef>

namespace ufx::ucs {

// One system call each, so not for what happens often. False: `theirs` is not all accessible, and a
// part may have been copied. Where the kernel does not offer it, a plain copy.
[[nodiscard]] bool guarded_write(void *theirs, const void *own, size_t length) noexcept;
[[nodiscard]] bool guarded_read(void *own, const void *theirs, size_t length) noexcept;

} // namespace ufx::ucs

#endif
