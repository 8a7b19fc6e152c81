# SPDX-License-Identifier: BSD-3-Clause
# UFX_DEFAULT_FLAGS: optimise, with line numbers for backtraces, unless the user says otherwise: the
# types of variables in debug information (-g) cost a fifth of the build.
AC_DEFUN([UFX_DEFAULT_FLAGS], [
    : ${CFLAGS="-O2 -g1"}
    : ${CXXFLAGS="-O2 -g1"}
])
