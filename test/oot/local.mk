# SPDX-License-Identifier: BSD-3-Clause
# Transports and their modules from outside: one built against the installed headers alone, and a
# C11 program that loads nothing but a module. tcp is always built as a module for it,
# under a name that the search for modules does not take.
check_LTLIBRARIES += libtest_tcp_module.la
libtest_tcp_module_la_SOURCES = src/uct/tcp/module.cpp
libtest_tcp_module_la_LDFLAGS = $(UFX_MODULE_LDFLAGS) -rpath $(abs_builddir)
libtest_tcp_module_la_LIBADD = libuct_tcp.la libuct_base.la libucs_int.la libufx_ucs.la \
	$(UFX_SYS_LIBS)

check_PROGRAMS += module_only
module_only_SOURCES = %D%/module_only.c
module_only_CFLAGS = $(AM_CFLAGS) -D_POSIX_C_SOURCE=200809L
module_only_LDADD = $(UFX_SYS_LIBS)

SANITIZED_TESTS += %D%/test_module_only.sh
TESTS += %D%/test_module_only.sh %D%/test_oot.sh
EXTRA_DIST += %D%/test_module_only.sh %D%/test_oot.sh %D%/incomplete.c %D%/loop.c \
	%D%/no_symbol.c %D%/use_loop.c %D%/wrong_abi.c
# Both install from this build folder, and libtool relinks in place: no other test may run then.
INSTALLING_LOGS = contrib/check_install.log test/oot/test_oot.log
test/oot/test_oot.log: contrib/check_install.log
$(filter-out $(INSTALLING_LOGS),$(TEST_LOGS)): | $(filter $(INSTALLING_LOGS),$(TEST_LOGS))
