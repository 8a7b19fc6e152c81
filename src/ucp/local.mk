# SPDX-License-Identifier: BSD-3-Clause
# ucp: endpoints over several rails, around the pure failover core.
include $(srcdir)/src/ucp/core/local.mk

lib_LTLIBRARIES += libufx_ucp.la
libufx_ucp_la_SOURCES = %D%/ucp.cpp
libufx_ucp_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_ucp_la_LIBADD = libucp_core.la libucs_int.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
