# SPDX-License-Identifier: BSD-3-Clause
# UFX_COMPILER_FLAG(FLAG, VARIABLE): append FLAG to VARIABLE if the C++ compiler takes it silently.
AC_DEFUN([UFX_COMPILER_FLAG], [
    AS_VAR_PUSHDEF([ufx_flag], [ufx_cv_flag_$1])
    AC_CACHE_CHECK([whether $CXX accepts $1], [ufx_flag], [
        AC_LANG_PUSH([C++])
        ufx_save_CXXFLAGS="$CXXFLAGS"
        CXXFLAGS="$CXXFLAGS -Werror $1"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
            [AS_VAR_SET([ufx_flag], [yes])], [AS_VAR_SET([ufx_flag], [no])])
        CXXFLAGS="$ufx_save_CXXFLAGS"
        AC_LANG_POP([C++])
    ])
    AS_VAR_IF([ufx_flag], [yes], [$2="$$2 $1"])
    AS_VAR_POPDEF([ufx_flag])
])
