# SPDX-License-Identifier: BSD-3-Clause
# uct: libuct_base.la (object model, ops tables) goes into the library and into each module; the
# component registry lives in libufx_uct.so; each transport is a convenience library of its own.
noinst_LTLIBRARIES += libuct_base.la libuct_tcp.la
libuct_base_la_SOURCES = %D%/base/base.cpp
libuct_tcp_la_SOURCES = %D%/tcp/tcp.cpp

lib_LTLIBRARIES += libufx_uct.la
libufx_uct_la_SOURCES = %D%/base/library.cpp
libufx_uct_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_uct_la_LIBADD = libuct_base.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)

if TCP_MODULE
ufxmod_LTLIBRARIES += libufx_uct_tcp.la
libufx_uct_tcp_la_SOURCES = %D%/tcp/module.cpp
libufx_uct_tcp_la_LDFLAGS = $(UFX_MODULE_LDFLAGS)
libufx_uct_tcp_la_LIBADD = libuct_tcp.la libuct_base.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
else
libufx_uct_la_LIBADD += libuct_tcp.la
endif
