# SPDX-License-Identifier: BSD-3-Clause
# ucs: libucs_int.la is the stateless part, linked into each library; libufx_ucs.so holds what
# exists once a process.
noinst_LTLIBRARIES += libucs_int.la
libucs_int_la_SOURCES = %D%/int.cpp

lib_LTLIBRARIES += libufx_ucs.la
libufx_ucs_la_SOURCES = %D%/version.cpp
libufx_ucs_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_ucs_la_LIBADD = libucs_int.la $(UFX_SYS_LIBS)
