# SPDX-License-Identifier: BSD-3-Clause
# Tests of the spine: wire-up, failover, fail-back.
TEST_UCP_SPINE_SOURCES = \
	%D%/lone.h \
	%D%/spine_devices.cpp \
	%D%/spine_failover.cpp \
	%D%/spine_fake.cpp \
	%D%/spine_hostile.cpp \
	%D%/spine_listener.cpp \
	%D%/spine_network.cpp \
	%D%/spine_process.cpp \
	%D%/spine_rails.cpp \
	%D%/spine_silence.cpp \
	%D%/spine_traffic.h \
	%D%/spine_wire.cpp
