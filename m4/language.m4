# SPDX-License-Identifier: BSD-3-Clause
# UFX_LANGUAGE: the language levels, C11 and C++20, both with nothing but the standard in them.
AC_DEFUN([UFX_LANGUAGE], [
    UFX_CFLAGS="-std=c11"
    UFX_CXXFLAGS="-std=c++20"
    AC_LANG_PUSH([C++])
    ufx_save_CXXFLAGS="$CXXFLAGS"
    CXXFLAGS="$CXXFLAGS $UFX_CXXFLAGS"
    AC_CACHE_CHECK([whether $CXX accepts C++20 concepts and spans], [ufx_cv_cxx20],
        [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #include <concepts>
            #include <span>
            template <std::integral T> T first(std::span<const T> s) { return s[0]; }
            ]], [[int a[1] = {0}; return first<int>(a);]])],
            [ufx_cv_cxx20=yes], [ufx_cv_cxx20=no])])
    CXXFLAGS="$ufx_save_CXXFLAGS"
    AC_LANG_POP([C++])
    AS_IF([test "x$ufx_cv_cxx20" != xyes],
        [AC_MSG_ERROR([UFX needs a C++20 compiler, such as g++ 12 or clang 14])])
    AC_SUBST([UFX_CFLAGS])
    AC_SUBST([UFX_CXXFLAGS])
])
