# SPDX-License-Identifier: BSD-3-Clause
# UFX_SUMMARY: what will be built and what not, in a few lines.
AC_DEFUN([UFX_SUMMARY], [
    AS_IF([test "x$enable_ib" = xyes], [ufx_rdma="rc_mlx5, rc_verbs (module)"],
        [test "x$have_ibverbs" = xyes], [ufx_rdma="switched off"],
        [ufx_rdma="rdma-core not found: built without RDMA"])
    AS_IF([test "x$enable_tcp_module" = xyes], [ufx_tcp=module], [ufx_tcp=built-in])
    AC_MSG_NOTICE([
    ufx $PACKAGE_VERSION
    compilers      $CC / $CXX
    transports     self (built-in), tcp ($ufx_tcp)
    rdma           $ufx_rdma
    software HCA   $have_swhca
    netlink watch  $have_libnl
    NUMA nodes     $have_topology
    tools          $enable_tools
    tests          Catch2: $have_catch2, UCX beside us: $have_ucx, fuzz: $enable_fuzz
    sanitizers     ASan+UBSan: $enable_asan, TSan: $enable_tsan
    -Werror        $enable_werror])
])
