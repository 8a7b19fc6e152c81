# SPDX-License-Identifier: BSD-3-Clause
# test_ucp: tests of endpoints over several rails.
CATCH_TESTS += test_ucp
test_ucp_SOURCES = %D%/test_version.cpp
test_ucp_CPPFLAGS = $(TEST_CPPFLAGS)
test_ucp_LDADD = $(TEST_LIBS) libucp_core.la libucs_int.la libufx_ucp.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_ucp_OBJECTS): $(CATCH_PCH)
