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

dist_noinst_SCRIPTS += %D%/kill_mutants.sh %D%/ib_mutants.py
EXTRA_DIST += %D%/mutants.tsv %D%/ib_mutants.tsv

# Wrong versions of the RDMA transports: a changed copy of src/uct/ib, found before the real one, in a
# module that takes the place of the real one. They need the software HCA.
if IB
if UNITY
if SWHCA
if HAVE_CATCH2
EXTRA_LTLIBRARIES += libufx_uct_ib_mutant.la
libufx_uct_ib_mutant_la_SOURCES = src/uct/ib/module.cpp
nodist_libufx_uct_ib_mutant_la_SOURCES = unity/ib_common.cpp unity/ib_mlx5.cpp unity/ib_verbs.cpp
libufx_uct_ib_mutant_la_CPPFLAGS = -I$(UFX_IB_MUTANT) $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libufx_uct_ib_mutant_la_CXXFLAGS = $(AM_CXXFLAGS) -Wno-error
libufx_uct_ib_mutant_la_LDFLAGS = $(UFX_MODULE_LDFLAGS) -rpath $(ufxmoddir)
libufx_uct_ib_mutant_la_LIBADD = libuct_base.la libucs_topology.la libucs_int.la libufx_ucs.la $(IBVERBS_LIBS) \
	$(UFX_SYS_LIBS)
LONG_TESTS += %D%/ib_mutants.py
CLEANFILES += libufx_uct_ib_mutant.la
endif
endif
endif
endif

mutants: $(MUTANTS_BUILT)
	$(srcdir)/test/mutants/kill_mutants.sh $(srcdir)/test/mutants/mutants.tsv
.PHONY: mutants
