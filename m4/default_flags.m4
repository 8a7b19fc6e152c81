# SPDX-License-Identifier: BSD-3-Clause
# UFX_DEFAULT_FLAGS: optimise and keep debug information unless the user says otherwise.
AC_DEFUN([UFX_DEFAULT_FLAGS], [
    : ${CFLAGS="-O2 -g"}
    : ${CXXFLAGS="-O2 -g"}
])
