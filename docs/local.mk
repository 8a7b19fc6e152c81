# SPDX-License-Identifier: BSD-3-Clause
# Guides and man pages.
EXTRA_DIST += %D%/architecture.md %D%/configuration.md %D%/failover.md %D%/performance.md %D%/rdma.md %D%/tcp.md \
	%D%/verification.md %D%/writing-a-transport.md
dist_man_MANS += %D%/ufx.conf.5 %D%/ufx_info.1 %D%/ufx_perftest.1
EXTRA_DIST += %D%/swhca.md
if SWHCA
dist_man_MANS += %D%/ufx_swhca.1
else
EXTRA_DIST += %D%/ufx_swhca.1
endif
