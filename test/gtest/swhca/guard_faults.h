// SPDX-License-Identifier: BSD-3-Clause
// guard_faults: as long as it lives, a copy of an engine that faults ends, as under the shim.
#ifndef UFX_TEST_SWHCA_GUARD_FAULTS_H
#define UFX_TEST_SWHCA_GUARD_FAULTS_H

#include "swhca/engine/guarded_copy.h"

#include <csignal>
#include <unistd.h>

namespace ufx::test {

class guard_faults {
public:
    guard_faults()
    {
        struct sigaction action {};
        action.sa_sigaction = [](int, siginfo_t *, void *where) {
            if (!swhca::leave_guarded_copy(where)) {
                ::_exit(99);
            }
        };
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGSEGV, &action, &before_);
    }

    ~guard_faults() { ::sigaction(SIGSEGV, &before_, nullptr); }

    guard_faults(const guard_faults &) = delete;
    guard_faults &operator=(const guard_faults &) = delete;

private:
    struct sigaction before_ {};
};

} // namespace ufx::test

#endif
