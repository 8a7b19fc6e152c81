# SPDX-License-Identifier: BSD-3-Clause
# UFX_CATCH2: Catch2 version 2 for `make check`, and whether to precompile its header (g++ only:
# with clang the gain is small and the flags differ).
AC_DEFUN([UFX_CATCH2], [
    AC_LANG_PUSH([C++])
    AC_CHECK_HEADER([catch2/catch.hpp], [have_catch2=yes], [have_catch2=no])
    AC_CACHE_CHECK([whether $CXX is clang], [ufx_cv_cxx_clang],
        [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #ifndef __clang__
            #error not clang
            #endif]], [])], [ufx_cv_cxx_clang=yes], [ufx_cv_cxx_clang=no])])
    AC_LANG_POP([C++])
    AM_CONDITIONAL([HAVE_CATCH2], [test "x$have_catch2" = xyes])
    AM_CONDITIONAL([PRECOMPILE], [test "x$have_catch2$ufx_cv_cxx_clang" = xyesno])
    AM_CONDITIONAL([CLANG], [test "x$ufx_cv_cxx_clang" = xyes])
])
