#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every fault of rdma_failover.py, over every kind of rails."""

import rdma_failover

if __name__ == "__main__":
    rdma_failover.main(["--all"])
