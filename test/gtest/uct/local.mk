# SPDX-License-Identifier: BSD-3-Clause
# test_uct: tests of the transports. conformance/ runs over every transport that it finds.
CATCH_TESTS += test_uct
test_uct_SOURCES = %D%/test_version.cpp \
	%D%/test_make_ops.cpp %D%/test_op_queue.cpp %D%/test_pending_arbiter.cpp \
	%D%/test_md_config.cpp %D%/test_worker.cpp %D%/test_registry.cpp %D%/test_fake.cpp \
	%D%/conformance/harness.cpp %D%/conformance/harness.h \
	%D%/conformance/test_am.cpp %D%/conformance/test_atomic.cpp \
	%D%/conformance/test_error.cpp %D%/conformance/test_flush.cpp \
	%D%/conformance/test_invalidate.cpp %D%/conformance/test_pending.cpp \
	%D%/conformance/test_purge.cpp %D%/conformance/test_rma.cpp \
	%D%/conformance/test_tokens.cpp %D%/conformance/test_wakeup.cpp
test_uct_CPPFLAGS = $(TEST_CPPFLAGS)
test_uct_LDADD = $(TEST_LIBS) libuct_fake.la libuct_tcp.la libuct_base.la libucs_int.la \
	libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_uct_OBJECTS): $(CATCH_PCH)

include $(srcdir)/test/gtest/uct/tcp/local.mk
include $(srcdir)/test/gtest/uct/ib/local.mk
