# SPDX-License-Identifier: BSD-3-Clause
# Guides and man pages.
EXTRA_DIST += %D%/architecture.md %D%/failover.md %D%/tcp.md
dist_man_MANS += %D%/ufx.conf.5 \
	%D%/writing-a-transport.md
