# SPDX-License-Identifier: BSD-3-Clause
# UFX_VISIBILITY: everything is hidden unless marked UFX_API, and no symbol is process-unique,
# so that two libraries in one process never share state by accident.
AC_DEFUN([UFX_VISIBILITY], [
    UFX_CFLAGS="$UFX_CFLAGS -fvisibility=hidden"
    UFX_CXXFLAGS="$UFX_CXXFLAGS -fvisibility=hidden -fvisibility-inlines-hidden"
    UFX_COMPILER_FLAG([-fno-gnu-unique], [UFX_CXXFLAGS])
])
