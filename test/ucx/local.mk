# SPDX-License-Identifier: BSD-3-Clause
# A real UCX and UFX in one process, loaded in either order.
if HAVE_UCX
check_PROGRAMS += beside_ucx_first beside_ufx_first
TESTS += beside_ucx_first beside_ufx_first

beside_ucx_sources = %D%/beside_ucx.cpp %D%/ucx_side.cpp %D%/ucx_side.h %D%/ufx_side.cpp \
	%D%/ufx_side.h
beside_ucx_first_SOURCES = $(beside_ucx_sources)
beside_ucx_first_CXXFLAGS = $(AM_CXXFLAGS) $(UCX_CFLAGS)
beside_ucx_first_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
beside_ucx_first_LDADD = $(UCX_LIBS) libufx_ucp.la libufx_ucs.la
beside_ufx_first_SOURCES = $(beside_ucx_sources)
beside_ufx_first_CXXFLAGS = $(AM_CXXFLAGS) $(UCX_CFLAGS)
beside_ufx_first_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
beside_ufx_first_LDADD = libufx_ucp.la libufx_ucs.la $(UCX_LIBS)
endif
