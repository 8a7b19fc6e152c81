# SPDX-License-Identifier: BSD-3-Clause
# UFX_NUMA: libnuma, by which memory is put on a node. Comes after UFX_HWLOC.
AC_DEFUN([UFX_NUMA], [
    PKG_CHECK_MODULES([NUMA], [numa], [have_numa=yes], [have_numa=no])
    AS_IF([test "x$have_numa" = xno], [AC_MSG_WARN([libnuma (libnuma-dev) not found])])
    have_topology=no
    AS_IF([test "x$have_hwloc$have_numa" = xyesyes], [have_topology=yes])
    AM_CONDITIONAL([HAVE_TOPOLOGY], [test "x$have_topology" = xyes])
])
