# SPDX-License-Identifier: BSD-3-Clause
# Several processes, killed and stopped: kill_table runs kill_child in pairs.
# Its 52 cases take about a minute, most of it waiting: AT_A_TIME of them run side by side.
check_PROGRAMS += kill_table kill_child
TESTS += kill_table
kill_child_SOURCES = %D%/kill_child.cpp %D%/kill_side.cpp %D%/kill_side.h
kill_child_LDADD = libufx_ucp.la libufx_uct.la libufx_ucs.la $(UFX_SYS_LIBS)
kill_table_SOURCES = %D%/kill_table.cpp %D%/kill_pair.cpp %D%/kill_pair.h
EXTRA_kill_table_DEPENDENCIES = kill_child
