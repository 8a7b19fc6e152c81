#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two minutes of `ufx_perftest soak` over each kind of rails."""

from perftest_soak import main

main(["120"])
