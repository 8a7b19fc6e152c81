// SPDX-License-Identifier: BSD-3-Clause
// What a test says when the machine cannot run it: the case is counted as skipped, not as passed.
#ifndef UFX_TEST_COMMON_SKIP_H
#define UFX_TEST_COMMON_SKIP_H

#include <string>

namespace ufx::test {

/** Count the running test case as skipped for this reason; the case must then return. */
void skip(const std::string &reason);

} // namespace ufx::test

#endif
