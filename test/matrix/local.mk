# SPDX-License-Identifier: BSD-3-Clause
# Every kind of operation against every fault at every step of its life, over rails of the software
# HCA, which test/swhca/failover_matrix.py runs; and how long failovers take, by hand.
if IB
if TOOLS
check_PROGRAMS += failover_matrix failover_times
failover_matrix_SOURCES = %D%/failover_matrix.cpp %D%/operations.cpp %D%/operations.h \
	%D%/tables.cpp %D%/tables.h %D%/world.cpp %D%/world.h
failover_matrix_LDADD = libtools.la libufx_ucp.la libufx_uct.la libufx_ucs.la
failover_times_SOURCES = %D%/failover_times.cpp %D%/world.cpp %D%/world.h
failover_times_LDADD = libtools.la libufx_ucp.la libufx_uct.la libufx_ucs.la
endif
endif
