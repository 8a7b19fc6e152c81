# SPDX-License-Identifier: BSD-3-Clause
# test_uct: tests of the transports.
CATCH_TESTS += test_uct
test_uct_SOURCES = %D%/test_version.cpp
test_uct_CPPFLAGS = $(TEST_CPPFLAGS)
test_uct_LDADD = $(TEST_LIBS) libuct_tcp.la libuct_base.la libucs_int.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_uct_OBJECTS): $(CATCH_PCH)

include $(srcdir)/test/gtest/uct/tcp/local.mk
