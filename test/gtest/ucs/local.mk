# SPDX-License-Identifier: BSD-3-Clause
# test_ucs: tests of the services.
CATCH_TESTS += test_ucs
test_ucs_SOURCES = \
	%D%/environment.h \
	%D%/test_bytes.cpp \
	%D%/test_config.cpp \
	%D%/test_containers.cpp \
	%D%/test_event.cpp \
	%D%/test_log.cpp \
	%D%/test_memory_watch.cpp \
	%D%/test_queues.cpp \
	%D%/test_registration_cache.cpp \
	%D%/test_result.cpp \
	%D%/test_route.cpp \
	%D%/test_system.cpp \
	%D%/test_topology.cpp \
	%D%/test_version.cpp
test_ucs_CPPFLAGS = $(TEST_CPPFLAGS)
test_ucs_LDADD = $(TEST_LIBS) libucs_topology.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_ucs_OBJECTS): $(CATCH_PCH)
