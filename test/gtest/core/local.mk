# SPDX-License-Identifier: BSD-3-Clause
# test_core: tests of the pure core; stored traces run in the explorer's world.
CATCH_TESTS += test_core
test_core_SOURCES = \
	$(EXPLORE_WORLD) \
	%D%/duo.h \
	%D%/samples.h \
	%D%/test_control_codec.cpp \
	%D%/test_lane.cpp \
	%D%/test_op.cpp \
	%D%/test_rail.cpp \
	%D%/test_traces.cpp \
	%D%/test_version.cpp \
	%D%/test_window.cpp
test_core_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/test -I$(top_srcdir)/test/explore
test_core_LDADD = $(TEST_LIBS) libucp_core.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_core_OBJECTS): $(CATCH_PCH)
EXTRA_DIST += %D%/traces
