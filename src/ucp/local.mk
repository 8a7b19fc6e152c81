# SPDX-License-Identifier: BSD-3-Clause
# ucp: libucp_core.la is the pure failover core, the same objects in the library, in the explorer
# and in the tests.
noinst_LTLIBRARIES += libucp_core.la
UFX_CORE_SOURCES = \
	%D%/core/am_rx.cpp \
	%D%/core/am_tx.cpp \
	%D%/core/control_codec.cpp \
	%D%/core/control_msg.cpp \
	%D%/core/ep.cpp \
	%D%/core/ep_judge.cpp \
	%D%/core/lane.cpp \
	%D%/core/lane_seal.cpp \
	%D%/core/order_group.cpp \
	%D%/core/peer.cpp \
	%D%/core/peer_control.cpp \
	%D%/core/peer_rails.cpp \
	%D%/core/rail.cpp \
	%D%/core/seal_book.cpp \
	%D%/core/types.cpp \
	%D%/core/window.cpp \
	%D%/core/action.h \
	%D%/core/am_rx.h \
	%D%/core/am_tx.h \
	%D%/core/config.h \
	%D%/core/control_codec.h \
	%D%/core/control_fields.h \
	%D%/core/control_msg.h \
	%D%/core/ep.h \
	%D%/core/flush_gate.h \
	%D%/core/lane.h \
	%D%/core/mutant.h \
	%D%/core/op_state.h \
	%D%/core/order_group.h \
	%D%/core/peer.h \
	%D%/core/peer_events.h \
	%D%/core/rail.h \
	%D%/core/resend.h \
	%D%/core/ring.h \
	%D%/core/seal_book.h \
	%D%/core/timer.h \
	%D%/core/transitions.h \
	%D%/core/types.h \
	%D%/core/window.h
libucp_core_la_SOURCES = $(UFX_CORE_SOURCES)

lib_LTLIBRARIES += libufx_ucp.la
libufx_ucp_la_SOURCES = %D%/ucp.cpp
libufx_ucp_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_ucp_la_LIBADD = libucp_core.la libucs_int.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
