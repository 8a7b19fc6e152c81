# SPDX-License-Identifier: BSD-3-Clause
# UFX_FUZZ: --enable-fuzz builds the fuzz targets with clang's libFuzzer; without it the same
# targets only replay their seeds.
AC_DEFUN([UFX_FUZZ], [
    AC_ARG_ENABLE([fuzz],
        [AS_HELP_STRING([--enable-fuzz], [build fuzz targets with libFuzzer, needs clang @<:@no@:>@])],
        [], [enable_fuzz=no])
    AS_IF([test "x$enable_fuzz" = xyes], [
        AS_IF([test "x$ufx_cv_cxx_clang" != xyes],
            [AC_MSG_ERROR([--enable-fuzz needs CC=clang CXX=clang++])])
        UFX_CFLAGS="$UFX_CFLAGS -fsanitize=fuzzer-no-link"
        UFX_CXXFLAGS="$UFX_CXXFLAGS -fsanitize=fuzzer-no-link"
        UFX_LDFLAGS="$UFX_LDFLAGS -fsanitize=fuzzer-no-link"
        UFX_LIB_LDFLAGS=
    ])
    AM_CONDITIONAL([FUZZ], [test "x$enable_fuzz" = xyes])
])
