# SPDX-License-Identifier: BSD-3-Clause
# tcp: its part of test_uct.
test_uct_SOURCES += \
	%D%/raw_peer.h %D%/tcp_pair.cpp %D%/tcp_pair.h %D%/test_tcp_failover.cpp \
	%D%/own_network.h %D%/test_tcp_device.cpp %D%/test_tcp_hostile.cpp \
	%D%/test_tcp_ops.cpp %D%/test_tcp_timeout.cpp
