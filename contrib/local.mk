# SPDX-License-Identifier: BSD-3-Clause
# Helper scripts and the checks of the tree itself.
nodist_pkgconfig_DATA = %D%/ufx-ucs.pc %D%/ufx-uct.pc %D%/ufx-ucp.pc
