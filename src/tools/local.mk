# SPDX-License-Identifier: BSD-3-Clause
# The tools: public headers only. What both and the tests use is in libtools.la.
if TOOLS
noinst_LTLIBRARIES += libtools.la
libtools_la_SOURCES = \
	%D%/common/channel.cpp %D%/common/channel.h \
	%D%/common/command_line.cpp %D%/common/command_line.h \
	%D%/common/crc32.cpp %D%/common/crc32.h \
	%D%/common/error.cpp %D%/common/error.h \
	%D%/common/fd.h \
	%D%/common/fields.cpp %D%/common/fields.h \
	%D%/common/output_file.cpp %D%/common/output_file.h \
	%D%/common/signals.cpp %D%/common/signals.h \
	%D%/common/socket.cpp %D%/common/socket.h \
	%D%/common/ucp_session.cpp %D%/common/ucp_session.h \
	%D%/common/units.cpp %D%/common/units.h \
	%D%/failover/chunk.cpp %D%/failover/chunk.h \
	%D%/failover/conductor.cpp %D%/failover/conductor.h \
	%D%/failover/fault_driver.cpp %D%/failover/fault_driver.h \
	%D%/failover/inspector.cpp %D%/failover/inspector.h \
	%D%/failover/main.cpp %D%/failover/main.h \
	%D%/failover/narrator.cpp %D%/failover/narrator.h \
	%D%/failover/netns.cpp %D%/failover/netns.h \
	%D%/failover/options.cpp %D%/failover/options.h \
	%D%/failover/plot.cpp %D%/failover/plot.h \
	%D%/failover/process.cpp %D%/failover/process.h \
	%D%/failover/receiver.cpp %D%/failover/receiver.h \
	%D%/failover/report.cpp %D%/failover/report.h \
	%D%/failover/schedule.cpp %D%/failover/schedule.h \
	%D%/failover/sender.cpp %D%/failover/sender.h \
	%D%/failover/timeline.cpp %D%/failover/timeline.h \
	%D%/perftest/measure.cpp %D%/perftest/measure.h \
	%D%/perftest/options.cpp %D%/perftest/options.h \
	%D%/perftest/port.h \
	%D%/perftest/report.cpp %D%/perftest/report.h \
	%D%/perftest/ucp_port.cpp \
	%D%/perftest/uct_device.cpp %D%/perftest/uct_device.h \
	%D%/perftest/uct_port.cpp
TOOLS_LIBS = libtools.la libufx_ucp.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)

bin_PROGRAMS += ufx_info ufx_perftest
ufx_info_SOURCES = %D%/info/main.cpp %D%/info/live.cpp %D%/info/live.h
ufx_info_LDADD = $(TOOLS_LIBS)
ufx_perftest_SOURCES = %D%/perftest/main.cpp
ufx_perftest_LDADD = $(TOOLS_LIBS)
endif
