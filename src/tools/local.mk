# SPDX-License-Identifier: BSD-3-Clause
# The tools: public headers only.
if TOOLS
bin_PROGRAMS += ufx_info ufx_perftest
TOOLS_LIBS = libufx_ucp.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
ufx_info_SOURCES = %D%/info.cpp
ufx_info_LDADD = $(TOOLS_LIBS)
ufx_perftest_SOURCES = %D%/perftest.cpp
ufx_perftest_LDADD = $(TOOLS_LIBS)
endif
