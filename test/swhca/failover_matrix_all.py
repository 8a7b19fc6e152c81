#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The whole failover matrix, in turn over all combinations of rails."""

from failover_matrix import main

main(["--all"])
