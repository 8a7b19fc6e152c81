# SPDX-License-Identifier: BSD-3-Clause
# UFX_UCX: a real UCX, only for the test that both live in one process.
AC_DEFUN([UFX_UCX], [
    PKG_CHECK_MODULES([UCX], [ucx], [have_ucx=yes], [have_ucx=no])
    AM_CONDITIONAL([HAVE_UCX], [test "x$have_ucx" = xyes])
])
