# SPDX-License-Identifier: BSD-3-Clause
# The spine of ucp: contexts, workers, control path, peers, lanes, rails, eps, dumps.
UCP_SPINE_SOURCES = \
	%D%/address.cpp \
	%D%/address.h \
	%D%/api_ep.cpp \
	%D%/api_worker.cpp \
	%D%/causes.h \
	%D%/config.cpp \
	%D%/config.h \
	%D%/context.cpp \
	%D%/context.h \
	%D%/control_conn.cpp \
	%D%/control_conn.h \
	%D%/control_frame.cpp \
	%D%/control_frame.h \
	%D%/control_link.cpp \
	%D%/control_link.h \
	%D%/control_path.cpp \
	%D%/control_path.h \
	%D%/debug_commands.cpp \
	%D%/debug_commands.h \
	%D%/debug_socket.cpp \
	%D%/debug_socket.h \
	%D%/dump.cpp \
	%D%/dump.h \
	%D%/dump_system.cpp \
	%D%/dump_writer.cpp \
	%D%/dump_writer.h \
	%D%/ep.cpp \
	%D%/ep.h \
	%D%/failover_stats.h \
	%D%/handles.h \
	%D%/lane.cpp \
	%D%/lane.h \
	%D%/listener.cpp \
	%D%/listener.h \
	%D%/peer.cpp \
	%D%/peer.h \
	%D%/peer_actions.cpp \
	%D%/prober.cpp \
	%D%/prober.h \
	%D%/rail.cpp \
	%D%/rail.h \
	%D%/wakeup.cpp \
	%D%/wakeup.h \
	%D%/worker.cpp \
	%D%/worker.h
