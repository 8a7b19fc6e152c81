# SPDX-License-Identifier: BSD-3-Clause
# UFX_CLI11: command line parser of the tools, headers only.
AC_DEFUN([UFX_CLI11], [
    AC_LANG_PUSH([C++])
    AC_CHECK_HEADER([CLI/CLI.hpp], [have_cli11=yes], [have_cli11=no])
    AC_LANG_POP([C++])
    AM_CONDITIONAL([HAVE_CLI11], [test "x$have_cli11" = xyes])
])
