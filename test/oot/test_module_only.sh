#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the C11 program that loads nothing but the tcp module.
set -eu
exec ./libtool --mode=execute ./module_only "$(pwd)/.libs/libtest_tcp_module.so" tcp lo
