# SPDX-License-Identifier: BSD-3-Clause
# Instruction counts against a baseline: `make check-instructions`; after a change that is worth
# its price, `make update-instructions` writes the baseline anew.
BENCHES = bench_ops bench_ucp
if SWHCA
if IB
BENCHES += bench_rdma bench_verbs
endif
endif
check_PROGRAMS += $(BENCHES)
bench_ops_SOURCES = %D%/bench_ops.c %D%/bench_main.c %D%/bench_main.h
bench_ops_LDADD = libufx_uct.la libufx_ucs.la
bench_ucp_SOURCES = %D%/bench_ucp.c %D%/bench_main.c %D%/bench_main.h
bench_ucp_LDADD = libufx_ucp.la libufx_uct.la libufx_ucs.la
bench_rdma_SOURCES = %D%/bench_rdma.c %D%/bench_main.c %D%/bench_main.h
bench_rdma_LDADD = libufx_uct.la libufx_ucs.la
bench_verbs_SOURCES = $(bench_rdma_SOURCES)
bench_verbs_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_TRANSPORT='"rc_verbs"'
bench_verbs_LDADD = $(bench_rdma_LDADD)
# Rates against a plain socket; run by hand on a quiet machine.
check_PROGRAMS += bench_tcp
bench_tcp_SOURCES = %D%/bench_tcp.cpp
bench_tcp_LDADD = libufx_uct.la libufx_ucs.la
dist_noinst_SCRIPTS += %D%/check_instructions.sh
dist_noinst_DATA += %D%/baseline.tsv

check-instructions: $(BENCHES)
	CXX='$(CXX)' $(srcdir)/test/bench/check_instructions.sh $(BENCHES)
update-instructions: $(BENCHES)
	CXX='$(CXX)' $(srcdir)/test/bench/check_instructions.sh --update $(BENCHES)
.PHONY: check-instructions update-instructions
