# SPDX-License-Identifier: BSD-3-Clause
# Helper scripts and the checks of the tree itself.
nodist_pkgconfig_DATA = %D%/ufx-ucs.pc %D%/ufx-uct.pc %D%/ufx-ucp.pc

TREE_CHECKS = %D%/check_layers.sh %D%/check_headers.sh %D%/check_symbols.sh \
	%D%/check_sources.sh %D%/check_scripts.sh %D%/check_install.sh %D%/check_driver.sh \
	%D%/check_docs.sh %D%/check_hot_path.sh %D%/check_warnings.sh
TESTS += $(TREE_CHECKS) %D%/coverage_rows
dist_noinst_SCRIPTS += $(TREE_CHECKS) %D%/coverage_rows %D%/test_driver %D%/count_tests \
	%D%/install-deps %D%/prepare %D%/check %D%/quickstart %D%/configure-devel %D%/configure-release \
	%D%/configure-asan %D%/configure-tsan %D%/judge_failover.py %D%/compare_ucx.py %D%/prove_failover .ci/run
dist_noinst_DATA += test/rows.tsv
