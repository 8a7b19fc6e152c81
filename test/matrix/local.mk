# SPDX-License-Identifier: BSD-3-Clause
# Every kind of operation against every fault at every step of its life, over rails of the software
# HCA; test/swhca/failover_matrix.py runs it.
if IB
if TOOLS
check_PROGRAMS += failover_matrix
failover_matrix_SOURCES = %D%/failover_matrix.cpp \
	%D%/operations.cpp %D%/operations.h %D%/tables.cpp %D%/tables.h %D%/world.cpp %D%/world.h
failover_matrix_LDADD = libtools.la libufx_ucp.la libufx_uct.la libufx_ucs.la
endif
endif
