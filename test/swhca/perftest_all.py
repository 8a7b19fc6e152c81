#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All of perftest that is tried: latencies, datagrams and all sizes too."""

from perftest_programs import LONG, SHORT, main

main(SHORT + LONG)
