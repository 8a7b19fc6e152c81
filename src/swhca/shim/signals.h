// SPDX-License-Identifier: BSD-3-Clause
// SIGSEGV and SIGBUS belong to the trap: what the program installs for them is kept here and called
// for every fault of its own, and no thread blocks them.
#ifndef UFX_SWHCA_SHIM_SIGNALS_H
#define UFX_SWHCA_SHIM_SIGNALS_H

#include <csignal>

namespace ufx::swhca::shim {

using signal_handler = void (*)(int, siginfo_t *, void *);

// Puts `handler` before the program's.
void take_fault_signals(signal_handler handler) noexcept;

// Does what would have happened without the trap; from the handler, with its arguments.
void pass_on(int number, siginfo_t *info, void *ucontext) noexcept;

} // namespace ufx::swhca::shim

#endif
