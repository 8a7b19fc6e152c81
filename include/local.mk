# SPDX-License-Identifier: BSD-3-Clause
# The installed C ABI: every header of include/ufx, one a line.
ufxincludedir = $(includedir)/ufx
ufxinclude_HEADERS = \
	%D%/ufx/status.h \
	%D%/ufx/ucp.h \
	%D%/ufx/ucs.h \
	%D%/ufx/uct.h \
	%D%/ufx/uct_ops.h \
	%D%/ufx/uct_types.h \
	%D%/ufx/version.h
