#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""20 seeds of `ufx_perftest soak --lockstep --storm`, 20 s of its time each, over each kind of rails."""

from perftest_lockstep import main

main(["20", "20"])
