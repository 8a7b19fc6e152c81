# SPDX-License-Identifier: BSD-3-Clause
# test_ucp: tests of endpoints over several rails, linked with the inside of the library.
CATCH_TESTS += test_ucp
include $(srcdir)/test/gtest/ucp/data.mk
include $(srcdir)/test/gtest/ucp/spine.mk
test_ucp_SOURCES = %D%/test_version.cpp %D%/test_config_guide.cpp %D%/test_misuse.cpp \
	$(TEST_UCP_DATA_SOURCES) $(TEST_UCP_SPINE_SOURCES)
test_ucp_CPPFLAGS = $(TEST_CPPFLAGS)
test_ucp_LDADD = $(TEST_LIBS) libucp_int.la libucp_core.la libuct_fake.la libuct_base.la \
	libucs_int.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_ucp_OBJECTS): $(CATCH_PCH)

# Every allocation fails once: it replaces operator new.
CATCH_TESTS += test_nomem
test_nomem_SOURCES = %D%/nomem.cpp %D%/data_pair.cpp %D%/data_pair.h
test_nomem_CPPFLAGS = $(TEST_CPPFLAGS)
test_nomem_LDADD = $(test_ucp_LDADD)
$(test_nomem_OBJECTS): $(CATCH_PCH)
