# SPDX-License-Identifier: BSD-3-Clause
# UFX_IBVERBS: rdma-core with its mlx5 provider's library, for the module of the RDMA transports.
# Without it the rest is built.
AC_DEFUN([UFX_IBVERBS], [
    PKG_CHECK_MODULES([IBVERBS], [libibverbs libmlx5], [have_ibverbs=yes], [have_ibverbs=no])
    AC_ARG_ENABLE([ib],
        [AS_HELP_STRING([--disable-ib], [do not build the RDMA transports])],
        [], [enable_ib=$have_ibverbs])
    AS_IF([test "x$enable_ib$have_ibverbs" = xyesno],
        [AC_MSG_ERROR([the RDMA transports need libibverbs and libmlx5 (libibverbs-dev)])])
    AM_CONDITIONAL([HAVE_IBVERBS], [test "x$have_ibverbs" = xyes])
    AM_CONDITIONAL([IB], [test "x$enable_ib" = xyes])
])
