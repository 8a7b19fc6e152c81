# SPDX-License-Identifier: BSD-3-Clause
# UFX_CHECK_TCP_MODULE: --enable-tcp-module builds tcp as a dlopened module instead of into libufx_uct.
AC_DEFUN([UFX_CHECK_TCP_MODULE], [
    AC_ARG_ENABLE([tcp-module],
        [AS_HELP_STRING([--enable-tcp-module], [build tcp as a dlopened module @<:@no@:>@])],
        [], [enable_tcp_module=no])
    AS_IF([test "x$enable_tcp_module" = xyes],
        [AC_DEFINE([UFX_TCP_MODULE], [1], [Define to 1 if tcp is a dlopened module.])])
    AM_CONDITIONAL([TCP_MODULE], [test "x$enable_tcp_module" = xyes])
])
