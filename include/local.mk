# SPDX-License-Identifier: BSD-3-Clause
# The installed C ABI.
ufxincludedir = $(includedir)/ufx
ufxinclude_HEADERS = %D%/ufx/status.h %D%/ufx/ucs.h %D%/ufx/version.h
