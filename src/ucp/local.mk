# SPDX-License-Identifier: BSD-3-Clause
# ucp: libucp_core.la is the pure failover core, the same objects in the library, in the explorer
# and in the tests.
noinst_LTLIBRARIES += libucp_core.la
libucp_core_la_SOURCES = %D%/core/core.cpp

lib_LTLIBRARIES += libufx_ucp.la
libufx_ucp_la_SOURCES = %D%/ucp.cpp
libufx_ucp_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_ucp_la_LIBADD = libucp_core.la libucs_int.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
