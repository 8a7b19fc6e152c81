# SPDX-License-Identifier: BSD-3-Clause
# UFX_JSON: nlohmann's JSON for the tools, headers only.
AC_DEFUN([UFX_JSON], [
    AC_LANG_PUSH([C++])
    AC_CHECK_HEADER([nlohmann/json.hpp], [have_json=yes], [have_json=no])
    AC_LANG_POP([C++])
    AM_CONDITIONAL([HAVE_JSON], [test "x$have_json" = xyes])

    AC_ARG_ENABLE([tools],
        [AS_HELP_STRING([--disable-tools], [do not build ufx_info and ufx_perftest])],
        [], [enable_tools=yes])
    AS_IF([test "x$enable_tools" = xyes && test "x$have_cli11$have_json" != xyesyes],
        [AC_MSG_ERROR([the tools need CLI11 (libcli11-dev) and nlohmann json (nlohmann-json3-dev); contrib/install-deps installs them, --disable-tools does without])])
    AM_CONDITIONAL([TOOLS], [test "x$enable_tools" = xyes])
])
