# SPDX-License-Identifier: BSD-3-Clause
# UFX_PTHREAD: threads and dlopen, in libc or beside it.
AC_DEFUN([UFX_PTHREAD], [
    UFX_CFLAGS="$UFX_CFLAGS -pthread"
    UFX_CXXFLAGS="$UFX_CXXFLAGS -pthread"
    ufx_save_LIBS="$LIBS"
    LIBS=
    AC_SEARCH_LIBS([pthread_create], [pthread], [],
        [AC_MSG_ERROR([UFX needs POSIX threads])])
    AC_SEARCH_LIBS([dlopen], [dl], [], [AC_MSG_ERROR([UFX needs dlopen])])
    UFX_SYS_LIBS="$LIBS"
    LIBS="$ufx_save_LIBS"
    AC_SUBST([UFX_SYS_LIBS])
])
