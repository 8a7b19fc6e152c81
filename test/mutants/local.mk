# SPDX-License-Identifier: BSD-3-Clause
# Wrong versions of the core that tests must kill: all are in one explorer, chosen by --mutant.
# `make mutants` demands that each one dies with a trace of at most 40 steps; mutants.tsv says what
# each breaks. It is no part of make check: CI runs it.
EXTRA_PROGRAMS += explore_mutants
explore_mutants_SOURCES = $(UFX_CORE_SOURCES) $(EXPLORE_SOURCES)
explore_mutants_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test/explore -DUFX_MUTANTS
explore_mutants_LDADD = libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
CLEANFILES += explore_mutants

dist_noinst_SCRIPTS += %D%/kill_mutants.sh
EXTRA_DIST += %D%/mutants.tsv

mutants: explore_mutants$(EXEEXT)
	$(srcdir)/test/mutants/kill_mutants.sh ./explore_mutants$(EXEEXT) $(srcdir)/test/mutants/mutants.tsv
.PHONY: mutants
