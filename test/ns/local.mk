# SPDX-License-Identifier: BSD-3-Clause
# The tools with real faults: in network namespaces (root), over loopback, and with bad input.
if TOOLS
NS_TESTS = %D%/failover_schedules.py %D%/failover_loopback.py %D%/bad_input.py \
	%D%/live_info.py %D%/measurements.py
TESTS += $(NS_TESTS)
LONG_TESTS += %D%/soak.py
dist_noinst_SCRIPTS += $(NS_TESTS) %D%/failover_run.py %D%/soak.py
endif
