# SPDX-License-Identifier: BSD-3-Clause
# The pure failover core: the same objects in the library, in the explorer and in the tests.
UNIT_core_lane = %D%/lane.cpp %D%/lane_seal.cpp %D%/seal_book.cpp %D%/window.cpp
UNIT_core_ep = %D%/am_rx.cpp %D%/am_tx.cpp %D%/ep.cpp %D%/ep_judge.cpp %D%/order_group.cpp
UNIT_core_peer = %D%/peer.cpp %D%/peer_control.cpp %D%/peer_rails.cpp %D%/rail.cpp
UNIT_core_msg = %D%/action.cpp %D%/control_codec.cpp %D%/control_msg.cpp %D%/types.cpp
UFX_CORE_SOURCES = $(UNIT_core_lane) $(UNIT_core_ep) $(UNIT_core_peer) $(UNIT_core_msg) \
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

# What is compiled: also by test/mutants, with wrong versions inside.
if UNITY
UFX_CORE_COMPILED = unity/core_lane.cpp unity/core_ep.cpp unity/core_peer.cpp unity/core_msg.cpp
else
UFX_CORE_COMPILED = $(UNIT_core_lane) $(UNIT_core_ep) $(UNIT_core_peer) $(UNIT_core_msg)
endif
noinst_LTLIBRARIES += libucp_core.la
nodist_libucp_core_la_SOURCES = $(UFX_CORE_COMPILED)
EXTRA_libucp_core_la_SOURCES = $(UFX_CORE_SOURCES)
