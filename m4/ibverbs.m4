# SPDX-License-Identifier: BSD-3-Clause
# UFX_IBVERBS: rdma-core. Nothing uses it yet; the summary says what the machine would offer.
AC_DEFUN([UFX_IBVERBS], [
    PKG_CHECK_MODULES([IBVERBS], [libibverbs], [have_ibverbs=yes], [have_ibverbs=no])
    AM_CONDITIONAL([HAVE_IBVERBS], [test "x$have_ibverbs" = xyes])
])
