# SPDX-License-Identifier: BSD-3-Clause
# test_ucs: tests of the services.
CATCH_TESTS += test_ucs
test_ucs_SOURCES = %D%/test_version.cpp
test_ucs_CPPFLAGS = $(TEST_CPPFLAGS)
test_ucs_LDADD = $(TEST_LIBS) libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_ucs_OBJECTS): $(CATCH_PCH)
