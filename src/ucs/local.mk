# SPDX-License-Identifier: BSD-3-Clause
# ucs: libucs_int.la is the stateless part, linked into each library; libufx_ucs.so holds what
# exists once a process.
noinst_LTLIBRARIES += libucs_int.la
UNIT_ucs_config = %D%/config.cpp %D%/config_file.cpp %D%/config_parse.cpp %D%/result.cpp
UNIT_ucs_system = %D%/acceptor.cpp %D%/entry.cpp %D%/event_loop.cpp %D%/fd.cpp %D%/guarded_copy.cpp %D%/interface_addresses.cpp \
	%D%/mapping.cpp %D%/memory_watch.cpp %D%/module.cpp %D%/registration_cache.cpp \
	%D%/pool.cpp %D%/range_set.cpp %D%/timer_wheel.cpp %D%/uuid.cpp
UCS_INT_SOURCES = $(UNIT_ucs_config) $(UNIT_ucs_system) \
	%D%/acceptor.h %D%/backoff.h %D%/bytes.h %D%/clock.h %D%/config.h %D%/config_file.h %D%/config_parse.h \
	%D%/entry.h %D%/event_loop.h %D%/fake_clock.h %D%/fd.h %D%/guarded_copy.h %D%/handle_table.h %D%/interface_addresses.h %D%/list.h \
	%D%/log.h %D%/log_capture.h %D%/mailbox.h %D%/mapping.h %D%/memory_watch.h %D%/module.h \
	%D%/mpsc_queue.h %D%/registration_cache.h %D%/route.h \
	%D%/netlink_watch.h %D%/owner.h %D%/pool.h %D%/prng.h %D%/range_set.h %D%/result.h \
	%D%/timer_wheel.h %D%/trace_point.h %D%/uuid.h
libucs_int_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBNL_CFLAGS)
libucs_int_la_LIBADD = $(LIBNL_LIBS)
if HAVE_LIBNL
libucs_int_la_SOURCES = %D%/netlink_watch.cpp %D%/route.cpp
EXTRA_DIST += %D%/netlink_watch_none.cpp
else
libucs_int_la_SOURCES = %D%/netlink_watch_none.cpp
EXTRA_DIST += %D%/netlink_watch.cpp %D%/route.cpp
endif

# A library of its own: only what places memory needs hwloc and libnuma.
noinst_LTLIBRARIES += libucs_topology.la
libucs_topology_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS) $(NUMA_CFLAGS)
if HAVE_TOPOLOGY
libucs_topology_la_SOURCES = %D%/topology.cpp %D%/topology.h
libucs_topology_la_LIBADD = $(HWLOC_LIBS) $(NUMA_LIBS)
EXTRA_DIST += %D%/topology_none.cpp
else
libucs_topology_la_SOURCES = %D%/topology_none.cpp %D%/topology.h
EXTRA_DIST += %D%/topology.cpp
endif

lib_LTLIBRARIES += libufx_ucs.la
UNIT_ucs_process = %D%/clock.cpp %D%/config_print.cpp %D%/config_registry.cpp %D%/log.cpp \
	%D%/status.cpp %D%/trace_point.cpp %D%/version.cpp
libufx_ucs_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_ucs_la_LIBADD = libucs_int.la $(UFX_SYS_LIBS)

if UNITY
nodist_libucs_int_la_SOURCES = unity/ucs_config.cpp unity/ucs_system.cpp
EXTRA_libucs_int_la_SOURCES = $(UCS_INT_SOURCES)
nodist_libufx_ucs_la_SOURCES = unity/ucs_process.cpp
EXTRA_libufx_ucs_la_SOURCES = $(UNIT_ucs_process)
else
libucs_int_la_SOURCES += $(UCS_INT_SOURCES)
libufx_ucs_la_SOURCES = $(UNIT_ucs_process)
endif
