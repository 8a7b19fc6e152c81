// SPDX-License-Identifier: BSD-3-Clause
// Runs the devices on another stack than that of the handler, which a program may have made small.
#ifndef UFX_SWHCA_SHIM_CALL_ON_STACK_H
#define UFX_SWHCA_SHIM_CALL_ON_STACK_H

#include <ucontext.h>

namespace ufx::swhca::shim {

// From the handler of a signal: calls `work` on the stack of what was interrupted if the handler
// has an alternate one, which is out of use meanwhile; else where the handler is.
void call_on_interrupted_stack(const ucontext_t &where, void (*work)()) noexcept;

} // namespace ufx::swhca::shim

#endif
