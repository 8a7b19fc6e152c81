# SPDX-License-Identifier: BSD-3-Clause
# Programs to learn from, against the public headers alone; tests run them.
check_PROGRAMS += kv_transfer
kv_transfer_SOURCES = %D%/kv_transfer.c
kv_transfer_CPPFLAGS = -I$(top_srcdir)/include
kv_transfer_CFLAGS = $(AM_CFLAGS) -D_POSIX_C_SOURCE=200809L
kv_transfer_LDADD = libufx_ucp.la libufx_uct.la libufx_ucs.la
TESTS += kv_transfer
SANITIZED_TESTS += kv_transfer
