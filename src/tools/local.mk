# SPDX-License-Identifier: BSD-3-Clause
# The tools: public headers only. What both and the tests use is in libtools.la.
if TOOLS
noinst_LTLIBRARIES += libtools.la
UNIT_tools_common = %D%/common/channel.cpp %D%/common/command_line.cpp %D%/common/crc32.cpp \
	%D%/common/error.cpp %D%/common/fields.cpp %D%/common/nearest.cpp %D%/common/network.cpp \
	%D%/common/output_file.cpp %D%/common/reception.cpp \
	%D%/common/rails.cpp %D%/common/signals.cpp %D%/common/socket.cpp %D%/common/units.cpp
UNIT_tools_scene = %D%/failover/fault_driver.cpp %D%/failover/fault_line.cpp %D%/failover/hca_fault_table.cpp %D%/failover/hca_faults.cpp %D%/failover/netns.cpp %D%/failover/options.cpp \
	%D%/failover/process.cpp %D%/failover/schedule.cpp
UNIT_tools_transfer = %D%/failover/chunk.cpp %D%/failover/inspector.cpp %D%/failover/receiver.cpp \
	%D%/failover/sender.cpp
UNIT_tools_story = %D%/failover/conductor.cpp %D%/failover/main.cpp %D%/failover/narrator.cpp \
	%D%/failover/plot.cpp %D%/failover/report.cpp %D%/failover/timeline.cpp \
	%D%/info/listing.cpp
UNIT_tools_perftest = %D%/perftest/measure.cpp %D%/perftest/options.cpp %D%/perftest/report.cpp \
	%D%/perftest/uct_device.cpp %D%/perftest/uct_port.cpp
UNIT_tools_soak = %D%/soak/lockstep.cpp %D%/soak/main.cpp %D%/soak/oracle.cpp %D%/soak/repeat.cpp %D%/soak/trouble.cpp
UNIT_tools_ucp = %D%/common/ucp_session.cpp %D%/perftest/ucp_port.cpp
TOOLS_SOURCES = $(UNIT_tools_common) $(UNIT_tools_scene) $(UNIT_tools_transfer) $(UNIT_tools_story) \
	$(UNIT_tools_perftest) $(UNIT_tools_soak) $(UNIT_tools_ucp) \
	%D%/common/channel.h %D%/common/command_line.h %D%/common/crc32.h %D%/common/error.h \
	%D%/common/fd.h %D%/common/fields.h %D%/common/nearest.h %D%/common/network.h \
	%D%/common/output_file.h %D%/common/reception.h \
	%D%/common/rails.h %D%/common/signals.h \
	%D%/common/socket.h %D%/common/ucp_session.h %D%/common/units.h \
	%D%/failover/chunk.h %D%/failover/conductor.h %D%/failover/fault_driver.h %D%/failover/fault_line.h %D%/failover/hca_fault_table.h %D%/failover/hca_faults.h \
	%D%/failover/inspector.h %D%/failover/main.h %D%/failover/narrator.h %D%/failover/netns.h \
	%D%/failover/options.h %D%/failover/plot.h %D%/failover/process.h %D%/failover/receiver.h \
	%D%/failover/report.h %D%/failover/schedule.h %D%/failover/sender.h %D%/failover/timeline.h \
	%D%/info/listing.h %D%/perftest/measure.h %D%/perftest/options.h %D%/perftest/port.h %D%/perftest/report.h \
	%D%/perftest/uct_device.h \
	%D%/soak/lockstep.h %D%/soak/main.h %D%/soak/oracle.h %D%/soak/repeat.h %D%/soak/trouble.h
if UNITY
nodist_libtools_la_SOURCES = unity/tools_common.cpp unity/tools_scene.cpp unity/tools_transfer.cpp \
	unity/tools_story.cpp unity/tools_perftest.cpp unity/tools_soak.cpp unity/tools_ucp.cpp
EXTRA_libtools_la_SOURCES = $(TOOLS_SOURCES)
else
libtools_la_SOURCES = $(TOOLS_SOURCES)
endif
TOOLS_LIBS = libtools.la libufx_ucp.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)

bin_PROGRAMS += ufx_info ufx_perftest
ufx_info_SOURCES = %D%/info/main.cpp %D%/info/live.cpp %D%/info/live.h
ufx_info_LDADD = $(TOOLS_LIBS)
ufx_perftest_SOURCES = %D%/perftest/main.cpp
ufx_perftest_LDADD = $(TOOLS_LIBS)
endif
