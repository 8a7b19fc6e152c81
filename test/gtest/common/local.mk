# SPDX-License-Identifier: BSD-3-Clause
# Shared by all test programs: Catch2's main, compiled once, and its header precompiled. A program
# test_x uses TEST_CPPFLAGS and TEST_LIBS and says `$(test_x_OBJECTS): $(CATCH_PCH)`.
check_LTLIBRARIES += libtest_main.la
libtest_main_la_SOURCES = %D%/main.cpp %D%/skip.h
libtest_main_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test/gtest

TEST_CPPFLAGS = $(CATCH_PCH_FLAGS) $(AM_CPPFLAGS) -I$(top_srcdir)/test/gtest \
	-DUFX_TOP_SRCDIR=\"$(abs_top_srcdir)\" -DUFX_TOP_BUILDDIR=\"$(abs_top_builddir)\"
TEST_LIBS = libtest_main.la

CATCH_PCH =
CATCH_PCH_FLAGS =
if PRECOMPILE
# g++ takes DIR/catch2/catch.hpp.gch for <catch2/catch.hpp> when DIR comes first and the header is
# the first thing compiled, hence -include.
CATCH_PCH += %D%/pch/catch2/catch.hpp.gch
CATCH_PCH_FLAGS += -I$(top_builddir)/%D%/pch -include catch2/catch.hpp
CLEANFILES += $(CATCH_PCH) %D%/pch/catch2/catch.hpp

%D%/pch/catch2/catch.hpp.gch: $(srcdir)/%D%/local.mk config.status
	@$(MKDIR_P) $(@D)
	@echo "#include_next <catch2/catch.hpp>" > $(@D)/catch.hpp
	$(AM_V_GEN)$(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
	$(AM_CXXFLAGS) $(CXXFLAGS) -w -x c++-header $(@D)/catch.hpp -o $@
endif
