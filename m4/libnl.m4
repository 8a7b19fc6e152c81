# SPDX-License-Identifier: BSD-3-Clause
# UFX_LIBNL: libnl-route-3, by which link and address changes are seen. Without it the rest is
# built and rails notice a dead link by their own traffic only.
AC_DEFUN([UFX_LIBNL], [
    PKG_CHECK_MODULES([LIBNL], [libnl-3.0 libnl-route-3.0], [have_libnl=yes], [have_libnl=no])
    AS_IF([test "x$have_libnl" = xyes],
        [AC_DEFINE([HAVE_LIBNL], [1], [Define to 1 if libnl-route-3 is there.])],
        [AC_MSG_WARN([libnl-route-3 (libnl-route-3-dev) not found: no netlink watch])])
    AM_CONDITIONAL([HAVE_LIBNL], [test "x$have_libnl" = xyes])
])
