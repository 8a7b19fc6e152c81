#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""In a build with a sanitizer: what needs RDMA devices, on the software HCA, whose own part in the
program has no sanitizer: the cases of test_ib and test_ucp, those that race with events among them,
and a while of random operations under random faults.
rows: M06 M16

    rdma_sanitized.py [ANYTHING]    in a hurry, as under TSan: of the cases only those about events"""

import os
import sys

from swhca_run import BUILD, Checks, Fabric, need
from rdma_transports import CASES_OF_UCP, UCP_RAILS, run_cases

# The trap has SIGSEGV, the shim is loaded before the runtime, and the drivers of rdma-core leave a few
# bytes when they are unloaded.
SANITIZERS = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0:handle_segv=0",
              "TSAN_OPTIONS": "handle_segv=0:halt_on_error=1"}
# Of events, which another thread reads.
ROWS_OF_EVENTS = ("M01", "M02", "M05", "M06", "M11", "M16", "T10", "T11", "T12", "T13")
LIMIT_S = 800
SOAK_SECONDS = "20"


def soak(checks):
    fabric = Fabric("--hca", "4", "--rate", "2Gb/s")
    status, output = fabric.run(
        os.path.join(BUILD, "ufx_perftest"), "soak", "-d", "mlx5_0:1,mlx5_1:1", "--peer-dev",
        "mlx5_2:1,mlx5_3:1", "--seconds", SOAK_SECONDS, environment=SANITIZERS, limit_s=LIMIT_S)
    checks.that(status == 0 and " 0 faults" not in output, "random operations and faults",
                output[-20000:])
    checks.that(fabric.close(), "they leave nothing")


def main(hurries):
    need()
    checks = Checks()
    cases = ",".join(f"[hca][{row}]" for row in ROWS_OF_EVENTS) if hurries else "[hca]"
    run_cases(checks, "test_ib", cases, environment=SANITIZERS, limit_s=LIMIT_S)
    if not hurries:
        run_cases(checks, "test_ucp", CASES_OF_UCP, environment={**SANITIZERS, **UCP_RAILS},
                  limit_s=LIMIT_S)
    soak(checks)
    checks.end()


if __name__ == "__main__":
    main(hurries=len(sys.argv) > 1)
