# SPDX-License-Identifier: BSD-3-Clause
# The spine of ucp: contexts, workers, control path, peers, lanes, rails, eps, dumps.
# ucp_replaced is what test/mutants replaces by wrong versions.
UNIT_ucp_replaced = %D%/control_link.cpp %D%/control_path.cpp %D%/rail.cpp
UNIT_ucp_control = %D%/address.cpp %D%/control_conn.cpp %D%/control_frame.cpp %D%/lane_control.cpp \
	%D%/listener.cpp %D%/peer_address.cpp %D%/probe_memory.cpp %D%/prober.cpp %D%/rail_needs.cpp
UNIT_ucp_worker = %D%/api_worker.cpp %D%/config.cpp %D%/context.cpp %D%/progress_thread.cpp \
	%D%/wakeup.cpp %D%/worker.cpp
UNIT_ucp_peer = %D%/api_ep.cpp %D%/ep.cpp %D%/lane.cpp %D%/peer.cpp %D%/peer_actions.cpp \
	%D%/silence.cpp
UNIT_ucp_dump = %D%/debug_commands.cpp %D%/debug_socket.cpp %D%/dump.cpp %D%/dump_system.cpp \
	%D%/dump_writer.cpp
UCP_SPINE_SOURCES = $(UNIT_ucp_replaced) $(UNIT_ucp_control) $(UNIT_ucp_worker) $(UNIT_ucp_peer) \
	$(UNIT_ucp_dump) \
	%D%/address.h %D%/causes.h %D%/config.h %D%/context.h %D%/control_conn.h %D%/control_frame.h \
	%D%/control_link.h %D%/control_path.h %D%/debug_commands.h %D%/debug_socket.h %D%/dump.h \
	%D%/dump_writer.h %D%/ep.h %D%/failover_stats.h %D%/handles.h %D%/lane.h %D%/lane_control.h \
	%D%/listener.h %D%/peer.h %D%/probe_memory.h %D%/prober.h %D%/progress_thread.h %D%/rail.h %D%/rail_speed.h %D%/rail_needs.h %D%/refuse.h %D%/silence.h %D%/uct_owners.h %D%/wakeup.h \
	%D%/worker.h
