# SPDX-License-Identifier: BSD-3-Clause
# UFX_SANITIZERS: --enable-asan (address and undefined behaviour) and --enable-tsan (threads).
AC_DEFUN([UFX_SANITIZERS], [
    AC_ARG_ENABLE([asan],
        [AS_HELP_STRING([--enable-asan], [build with ASan and UBSan @<:@no@:>@])],
        [], [enable_asan=no])
    AC_ARG_ENABLE([tsan],
        [AS_HELP_STRING([--enable-tsan], [build with TSan @<:@no@:>@])],
        [], [enable_tsan=no])
    AS_IF([test "x$enable_asan$enable_tsan" = xyesyes],
        [AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
    ufx_sanitize=
    AS_IF([test "x$enable_asan" = xyes],
        [ufx_sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"])
    AS_IF([test "x$enable_tsan" = xyes], [ufx_sanitize="-fsanitize=thread"])
    AS_IF([test -n "$ufx_sanitize"], [
        UFX_CFLAGS="$UFX_CFLAGS $ufx_sanitize -fno-omit-frame-pointer"
        UFX_CXXFLAGS="$UFX_CXXFLAGS $ufx_sanitize -fno-omit-frame-pointer"
        UFX_LDFLAGS="$UFX_LDFLAGS $ufx_sanitize"
    ])
    AC_SUBST([UFX_LDFLAGS])
    AM_CONDITIONAL([SANITIZED], [test -n "$ufx_sanitize"])
])
