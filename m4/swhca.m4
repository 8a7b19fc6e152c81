# SPDX-License-Identifier: BSD-3-Clause
# UFX_SWHCA: the software HCA needs the layouts of rdma-core's and the kernel's headers, and the tools'
# libraries for its launcher. It decodes stores of x86-64 where it traps doorbells.
AC_DEFUN([UFX_SWHCA], [
    AC_LANG_PUSH([C++])
    AC_CHECK_HEADERS([infiniband/mlx5dv.h], [have_mlx5dv=yes], [have_mlx5dv=no])
    AC_CHECK_HEADERS([rdma/mlx5-abi.h], [], [have_mlx5dv=no])
    AC_LANG_POP([C++])
    AS_CASE([$host_cpu], [x86_64], [], [have_mlx5dv=no])
    AS_IF([test "x$have_mlx5dv$enable_tools" = xyesyes], [have_swhca=yes], [have_swhca=no])
    AM_CONDITIONAL([SWHCA], [test "x$have_swhca" = xyes])
])
