# SPDX-License-Identifier: BSD-3-Clause
# The pure failover core: the same objects in the library, in the explorer and in the tests.
UFX_CORE_SOURCES = \
	%D%/action.cpp \
	%D%/am_rx.cpp \
	%D%/am_tx.cpp \
	%D%/control_codec.cpp \
	%D%/control_msg.cpp \
	%D%/ep.cpp \
	%D%/ep_judge.cpp \
	%D%/lane.cpp \
	%D%/lane_seal.cpp \
	%D%/order_group.cpp \
	%D%/peer.cpp \
	%D%/peer_control.cpp \
	%D%/peer_rails.cpp \
	%D%/rail.cpp \
	%D%/seal_book.cpp \
	%D%/types.cpp \
	%D%/window.cpp \
	%D%/action.h \
	%D%/am_rx.h \
	%D%/am_tx.h \
	%D%/config.h \
	%D%/control_codec.h \
	%D%/control_fields.h \
	%D%/control_msg.h \
	%D%/ep.h \
	%D%/flush_gate.h \
	%D%/lane.h \
	%D%/mutant.h \
	%D%/op_state.h \
	%D%/order_group.h \
	%D%/peer.h \
	%D%/peer_events.h \
	%D%/rail.h \
	%D%/resend.h \
	%D%/ring.h \
	%D%/seal_book.h \
	%D%/timer.h \
	%D%/transitions.h \
	%D%/types.h \
	%D%/window.h

noinst_LTLIBRARIES += libucp_core.la
libucp_core_la_SOURCES = $(UFX_CORE_SOURCES)
