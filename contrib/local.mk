# SPDX-License-Identifier: BSD-3-Clause
# Helper scripts and the checks of the tree itself.
nodist_pkgconfig_DATA = %D%/ufx-ucs.pc %D%/ufx-uct.pc %D%/ufx-ucp.pc

TREE_CHECKS = %D%/check_layers.sh %D%/check_headers.sh %D%/check_symbols.sh \
	%D%/check_sources.sh %D%/check_scripts.sh %D%/check_install.sh %D%/check_driver.sh
TESTS += $(TREE_CHECKS)
dist_noinst_SCRIPTS += $(TREE_CHECKS) %D%/test_driver %D%/count_tests
