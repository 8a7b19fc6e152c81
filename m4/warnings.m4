# SPDX-License-Identifier: BSD-3-Clause
# UFX_WARNINGS: warnings for our own code; --enable-werror makes them errors (CI does).
AC_DEFUN([UFX_WARNINGS], [
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [treat warnings as errors @<:@no@:>@])],
        [], [enable_werror=no])
    UFX_CFLAGS="$UFX_CFLAGS -Wall -Wextra -Wmissing-prototypes -Wnested-externs"
    UFX_CXXFLAGS="$UFX_CXXFLAGS -Wall -Wextra"
    UFX_COMPILER_FLAG([-Wmissing-declarations], [UFX_CXXFLAGS])
    AS_IF([test "x$enable_werror" = xyes], [
        UFX_CFLAGS="$UFX_CFLAGS -Werror"
        UFX_CXXFLAGS="$UFX_CXXFLAGS -Werror"
    ])
])
