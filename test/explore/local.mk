# SPDX-License-Identifier: BSD-3-Clause
# Interleavings of the failover core: `explore` drives the objects that libufx_ucp links; make check
# runs a sample, make check-long far more. `explore_mutants` is the same with wrong versions inside.
EXPLORE_WORLD = \
	%D%/coverage.cpp \
	%D%/event.cpp \
	%D%/scenario.cpp \
	%D%/search.cpp \
	%D%/world_check.cpp \
	%D%/world_enabled.cpp \
	%D%/world_exec.cpp \
	%D%/world_run.cpp \
	%D%/world_steps.cpp \
	%D%/world_traffic.cpp \
	%D%/coverage.h \
	%D%/event.h \
	%D%/scenario.h \
	%D%/search.h \
	%D%/subject.h \
	%D%/world.h
EXPLORE_SOURCES = $(EXPLORE_WORLD) %D%/main.cpp

check_PROGRAMS += explore
explore_SOURCES = $(EXPLORE_SOURCES)
explore_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test/explore
explore_LDADD = libucp_core.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)

dist_noinst_SCRIPTS += %D%/explore_sample.sh %D%/explore_long.sh
EXTRA_DIST += %D%/unreached.txt
TESTS += %D%/explore_sample.sh
LONG_TESTS += %D%/explore_long.sh
