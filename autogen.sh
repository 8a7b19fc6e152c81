#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Generate configure and the Makefile templates from a fresh checkout.
set -eu
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all,no-portability "$@"
