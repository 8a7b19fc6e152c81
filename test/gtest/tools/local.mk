# SPDX-License-Identifier: BSD-3-Clause
# test_tools: tests of the tools.
CATCH_TESTS += test_tools
test_tools_SOURCES = %D%/test_version.cpp
test_tools_CPPFLAGS = $(TEST_CPPFLAGS)
test_tools_LDADD = $(TEST_LIBS) libufx_ucp.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_tools_OBJECTS): $(CATCH_PCH)
