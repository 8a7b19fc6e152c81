#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rc_mlx5 and rc_verbs on the software HCA: the conformance suite and their own cases, both sides in
one process; and every uct measurement between two, with the data checked."""

import os

from swhca_run import BUILD, LIMIT_S, Checks, Fabric, need

MEASUREMENTS = ("am_lat", "am_bw", "put_lat", "put_bw", "get_lat", "get_bw", "fadd", "cswap")
CASES_OF_UCP = "[data][tcp]~tcp:*,[rails],[fabric]"
UCP_RAILS = {"UFX_TEST_RAILS": "mlx5_0:1,mlx5_1:1"}


def run_cases(checks, program, *filters, rules=(), environment=None, limit_s=LIMIT_S):
    fabric = Fabric("--hca", "4")
    schedule = os.path.join(fabric.folder, "rules")
    with open(schedule, "w", encoding="utf-8") as lines:
        lines.write("\n".join(rules) + "\n")
    fabric.options = (*fabric.options, "--faults", schedule)
    status, output = fabric.run(os.path.join(BUILD, program), *filters, environment=environment,
                                limit_s=limit_s)
    os.remove(schedule)
    name = " with ".join([f"{program} on the software HCA", *rules])
    checks.that(status == 0, name, output[-6000:])
    checks.that(fabric.close(), f"{name} leaves nothing")


def measure(checks, transport):
    fabric = Fabric("--hca", "1")
    perftest = os.path.join(BUILD, "ufx_perftest")
    for test in MEASUREMENTS:
        # Each turn of a ping-pong may cost a time slice where processors are few.
        iterations = "50" if test.endswith("_lat") else "500"
        size = "8" if test in ("fadd", "cswap") else "4k"
        statuses, outputs = fabric.pair(
            [perftest, "-x", transport, "-d", "mlx5_0:1"], "-p", "-t", test, "-s", size, "-n",
            iterations, "-w", "5", "--validate", "-f")
        checks.that(statuses == [0, 0], f"{test} over {transport} between two processes",
                    "\n".join(outputs)[-4000:])
    checks.that(fabric.close(), f"measurements over {transport} leave nothing")


def main():
    need()
    checks = Checks()
    if os.path.exists(os.path.join(BUILD, "test_uct")):
        run_cases(checks, "test_uct", "uct: *")
        # A queue pair that lets small data come in completions would lose it here.
        # That one has all atomics, too: the device has them, but no way to say so.
        run_cases(checks, "test_uct", "uct: *", rules=["scatter-to-cqe on"],
                  environment={"UFX_RC_MLX5_EXTENDED_ATOMICS": "y"})
        run_cases(checks, "test_ib", "[hca]")
    if os.path.exists(os.path.join(BUILD, "test_ucp")):
        # All operations, and each against each fault, over two rails of rc_mlx5.
        run_cases(checks, "test_ucp", CASES_OF_UCP, environment=UCP_RAILS)
    for transport in ("rc_mlx5", "rc_verbs"):
        measure(checks, transport)
    checks.end()


if __name__ == "__main__":
    main()
