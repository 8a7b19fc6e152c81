# SPDX-License-Identifier: BSD-3-Clause
# test_core: tests of the pure core.
CATCH_TESTS += test_core
test_core_SOURCES = %D%/test_version.cpp
test_core_CPPFLAGS = $(TEST_CPPFLAGS)
test_core_LDADD = $(TEST_LIBS) libucp_core.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_core_OBJECTS): $(CATCH_PCH)
