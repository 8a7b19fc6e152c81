# SPDX-License-Identifier: BSD-3-Clause
# Programs of other projects, from the distribution, on the software HCA.
if SWHCA
LONG_TESTS += %D%/verbs_programs.py %D%/perftest_programs.py %D%/ucx_programs.py \
	%D%/faults_at_work.py %D%/perftest_all.py
endif
dist_noinst_SCRIPTS += %D%/verbs_programs.py %D%/perftest_programs.py %D%/ucx_programs.py \
	%D%/faults_at_work.py %D%/perftest_all.py %D%/swhca_run.py
