# SPDX-License-Identifier: BSD-3-Clause
# ucp: endpoints over several rails, around the pure failover core.
include $(srcdir)/src/ucp/core/local.mk
include $(srcdir)/src/ucp/data.mk
include $(srcdir)/src/ucp/spine.mk

# Everything but the core, for the library and for tests of its inside.
noinst_LTLIBRARIES += libucp_int.la
libucp_int_la_LIBADD = libucs_topology.la
if UNITY
UCP_REPLACED_COMPILED = unity/ucp_replaced.cpp
nodist_libucp_int_la_SOURCES = unity/ucp_tx.cpp unity/ucp_rx.cpp unity/ucp_ops.cpp \
	unity/ucp_control.cpp unity/ucp_worker.cpp unity/ucp_peer.cpp unity/ucp_dump.cpp \
	$(UCP_REPLACED_COMPILED)
EXTRA_libucp_int_la_SOURCES = $(UCP_DATA_SOURCES) $(UCP_SPINE_SOURCES)
else
UCP_REPLACED_COMPILED = $(UNIT_ucp_replaced)
libucp_int_la_SOURCES = $(UCP_DATA_SOURCES) $(UCP_SPINE_SOURCES)
endif

lib_LTLIBRARIES += libufx_ucp.la
libufx_ucp_la_SOURCES =
nodist_EXTRA_libufx_ucp_la_SOURCES = dummy.cpp # links as C++
libufx_ucp_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_ucp_la_LIBADD = libucp_int.la libucp_core.la libucs_int.la libufx_uct.la libufx_ucs.la \
	$(UFX_SYS_LIBS)
