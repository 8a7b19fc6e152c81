# SPDX-License-Identifier: BSD-3-Clause
# Programs to learn from, against the public headers alone; tests run them.
EXAMPLES = kv_transfer outstanding_purge put_fence_am
check_PROGRAMS += $(EXAMPLES)
EXAMPLE_CPPFLAGS = -I$(top_srcdir)/include
EXAMPLE_CFLAGS = $(AM_CFLAGS) -D_POSIX_C_SOURCE=200809L
EXAMPLE_LDADD = libufx_ucp.la libufx_uct.la libufx_ucs.la
kv_transfer_SOURCES = %D%/kv_transfer.c
kv_transfer_CPPFLAGS = $(EXAMPLE_CPPFLAGS)
kv_transfer_CFLAGS = $(EXAMPLE_CFLAGS)
kv_transfer_LDADD = $(EXAMPLE_LDADD)
outstanding_purge_SOURCES = %D%/outstanding_purge.c
outstanding_purge_CPPFLAGS = $(EXAMPLE_CPPFLAGS)
outstanding_purge_CFLAGS = $(EXAMPLE_CFLAGS)
outstanding_purge_LDADD = libufx_uct.la libufx_ucs.la
put_fence_am_SOURCES = %D%/put_fence_am.c
put_fence_am_CPPFLAGS = $(EXAMPLE_CPPFLAGS)
put_fence_am_CFLAGS = $(EXAMPLE_CFLAGS)
put_fence_am_LDADD = $(EXAMPLE_LDADD)
dist_noinst_SCRIPTS += %D%/full_queues.sh %D%/link_cut.sh
TESTS += $(EXAMPLES) %D%/full_queues.sh
if SWHCA
if IB
TESTS += %D%/link_cut.sh
endif
endif
SANITIZED_TESTS += $(EXAMPLES) %D%/full_queues.sh
