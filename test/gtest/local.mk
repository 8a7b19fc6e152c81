# SPDX-License-Identifier: BSD-3-Clause
# Unit and conformance tests, one Catch2 program a layer. Each program adds itself to CATCH_TESTS.
CATCH_TESTS =
if HAVE_CATCH2
include $(srcdir)/test/gtest/common/local.mk
include $(srcdir)/test/gtest/ucs/local.mk
include $(srcdir)/test/gtest/uct/local.mk
include $(srcdir)/test/gtest/core/local.mk
include $(srcdir)/test/gtest/ucp/local.mk
include $(srcdir)/test/gtest/tools/local.mk
include $(srcdir)/test/gtest/swhca/local.mk
endif
check_PROGRAMS += $(CATCH_TESTS)
TESTS += $(CATCH_TESTS)
SANITIZED_TESTS += $(CATCH_TESTS)

# Tests are built more often than they run: without -O2 Catch2's main alone compiles 15 s faster.
test/gtest/%: CXXFLAGS += -O0
