# SPDX-License-Identifier: BSD-3-Clause
# test_tools: what the tools are made of, and the socket by which ufx_info asks.
if TOOLS
CATCH_TESTS += test_tools
test_tools_SOURCES = \
	%D%/test_common.cpp \
	%D%/test_debug_socket.cpp \
	%D%/test_failover.cpp \
	%D%/test_info.cpp \
	%D%/test_perftest.cpp \
	src/ucp/debug_socket.cpp
test_tools_CPPFLAGS = $(TEST_CPPFLAGS)
test_tools_LDADD = $(TEST_LIBS) libtools.la libucs_int.la libufx_ucp.la libufx_uct.la \
	libufx_ucs.la $(UFX_SYS_LIBS)
$(test_tools_OBJECTS): $(CATCH_PCH)
endif
