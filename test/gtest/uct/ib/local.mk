# SPDX-License-Identifier: BSD-3-Clause
# test_ib: the parts of the RDMA transports, and with [hca] what they do on the software ConnectX
# (run there by test/swhca/rdma_transports.py; elsewhere those cases are skipped).
if IB
CATCH_TESTS += test_ib
test_ib_SOURCES = %D%/rc_rig.cpp %D%/rc_rig.h %D%/test_ib_atomics.cpp %D%/test_ib_connect.cpp %D%/test_ib_credits.cpp \
	%D%/test_ib_device.cpp %D%/test_ib_errors.cpp %D%/test_ib_events.cpp %D%/test_ib_faults.cpp \
	%D%/test_ib_memory.cpp %D%/test_ib_mix.cpp %D%/test_ib_monitor.cpp %D%/test_ib_orphans.cpp \
	%D%/test_ib_parts.cpp %D%/test_ib_quiet.cpp %D%/test_ib_routes.cpp %D%/test_ib_vm.cpp %D%/verbs_calls.cpp %D%/verbs_calls.h \
	test/gtest/uct/conformance/harness.cpp test/gtest/uct/conformance/harness.h
test_ib_CPPFLAGS = $(TEST_CPPFLAGS) $(IBVERBS_CFLAGS)
test_ib_LDADD = $(TEST_LIBS) libuct_fake.la libuct_ib.la libuct_base.la libucs_int.la \
	libufx_uct.la libufx_ucs.la $(IBVERBS_LIBS) $(UFX_SYS_LIBS)
$(test_ib_OBJECTS): $(CATCH_PCH)
endif
