# SPDX-License-Identifier: BSD-3-Clause
# UFX_HWLOC: hwloc, which knows what is near to what in this machine. Without it, or without libnuma,
# memory is where the system puts it.
AC_DEFUN([UFX_HWLOC], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [have_hwloc=yes], [have_hwloc=no])
    AS_IF([test "x$have_hwloc" = xno], [AC_MSG_WARN([hwloc (libhwloc-dev) not found])])
])
