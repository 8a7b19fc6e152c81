# SPDX-License-Identifier: BSD-3-Clause
# Wrong versions of ucp that tests must kill. All are in one explorer and one test program; UFX_MUTANT
# chooses one. `make mutants` demands that each dies, in the explorer with a trace of at most 40
# steps; mutants.tsv says what each breaks and who kills it. It is no part of make check: CI runs it.
EXTRA_LTLIBRARIES = libmutants.la
nodist_libmutants_la_SOURCES = $(UFX_CORE_COMPILED) $(UCP_REPLACED_COMPILED)
libmutants_la_CPPFLAGS = $(AM_CPPFLAGS) -DUFX_MUTANTS
EXTRA_PROGRAMS += explore_mutants
explore_mutants_SOURCES = $(EXPLORE_SOURCES) %D%/choose_mutant.cpp
explore_mutants_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test/explore -DUFX_MUTANTS
explore_mutants_LDADD = libmutants.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
MUTANTS_BUILT = explore_mutants

if HAVE_CATCH2
# The objects of test_ucp, unchanged; what libmutants.la holds is taken instead of libucp_int.la's.
EXTRA_PROGRAMS += test_ucp_mutants
test_ucp_mutants_SOURCES = %D%/choose_mutant.cpp
test_ucp_mutants_CPPFLAGS = $(AM_CPPFLAGS) -DUFX_MUTANTS
test_ucp_mutants_LDADD = $(test_ucp_OBJECTS) $(libmutants_la_OBJECTS) $(TEST_LIBS) libucp_int.la \
	libuct_fake.la libuct_base.la libucs_int.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
MUTANTS_BUILT += test_ucp_mutants
endif
CLEANFILES += $(MUTANTS_BUILT) libmutants.la

dist_noinst_SCRIPTS += %D%/kill_mutants.sh
EXTRA_DIST += %D%/mutants.tsv

mutants: $(MUTANTS_BUILT)
	$(srcdir)/test/mutants/kill_mutants.sh $(srcdir)/test/mutants/mutants.tsv
.PHONY: mutants
