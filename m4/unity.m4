# SPDX-License-Identifier: BSD-3-Clause
# UFX_UNITY: --disable-unity compiles each .cpp on its own: a change then costs one file, but a build
# from nothing several times as long, most of which goes into headers.
AC_DEFUN([UFX_UNITY], [
    AC_ARG_ENABLE([unity],
        [AS_HELP_STRING([--disable-unity], [compile each source file on its own @<:@no@:>@])],
        [], [enable_unity=yes])
    AM_CONDITIONAL([UNITY], [test "x$enable_unity" = xyes])
])
