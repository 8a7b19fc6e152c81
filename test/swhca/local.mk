# SPDX-License-Identifier: BSD-3-Clause
# Programs on the software HCA: a probe of our own, and those of other projects, from the
# distribution.
if SWHCA
if HAVE_IBVERBS
check_PROGRAMS += swhca_probe
swhca_probe_SOURCES = %D%/probe.cpp %D%/probe.h %D%/probe_descriptors.cpp \
	%D%/probe_queues.cpp %D%/probe_regions.cpp \
	%D%/probe_signals.cpp %D%/probe_threads.cpp
swhca_probe_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
swhca_probe_LDADD = $(IBVERBS_LIBS)
TESTS += %D%/probes.py %D%/sysfs_programs.py
endif
if IB
TESTS += %D%/rdma_transports.py %D%/rdma_failover.py
TESTS += %D%/failover_matrix.py %D%/perftest_soak.py %D%/perftest_lockstep.py
LONG_TESTS += %D%/rdma_failover_all.py %D%/failover_matrix_all.py %D%/perftest_soak_long.py \
	%D%/perftest_lockstep_long.py
SANITIZED_TESTS += %D%/rdma_sanitized.py
endif
TESTS += %D%/command_line.py %D%/cleanup.py %D%/verbs_programs.py %D%/perftest_programs.py \
	%D%/ucx_programs.py %D%/faults_at_work.py
LONG_TESTS += %D%/perftest_all.py %D%/kill_everywhere.sh
endif
dist_noinst_SCRIPTS += %D%/command_line.py %D%/cleanup.py %D%/probes.py %D%/sysfs_programs.py %D%/rdma_transports.py \
	%D%/rdma_failover.py %D%/rdma_failover_all.py %D%/rdma_sanitized.py %D%/failover_matrix.py \
	%D%/failover_matrix_all.py %D%/perftest_soak.py %D%/perftest_soak_long.py \
	%D%/perftest_lockstep.py %D%/perftest_lockstep_long.py %D%/verbs_programs.py \
	%D%/perftest_programs.py %D%/ucx_programs.py %D%/faults_at_work.py %D%/perftest_all.py \
	%D%/speed.py %D%/swhca_run.py %D%/kill_everywhere.sh
