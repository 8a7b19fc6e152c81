#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""perftest runs unchanged: every operation, several QPs, events, SRQ."""

from swhca_run import Checks, Fabric, need

ROUNDS = ["-n", "5", "-F"]
SHORT = [
    ["ib_write_bw", *ROUNDS],
    ["ib_read_bw", *ROUNDS, "-q", "8"],
    ["ib_send_bw", *ROUNDS, "--use-srq", "-q", "2"],
    ["ib_send_bw", *ROUNDS, "-e"],
    ["ib_atomic_bw", *ROUNDS],
]
# What takes turns waits for the scheduler at each, on a machine that is busy.
LONG = [
    ["ib_write_lat", *ROUNDS],
    ["ib_read_lat", *ROUNDS],
    ["ib_send_bw", *ROUNDS, "-c", "UD"],
    ["ib_send_lat", *ROUNDS],
    ["ib_send_lat", *ROUNDS, "-e"],
    ["ib_atomic_lat", *ROUNDS],
    ["ib_write_bw", "-a", "-n", "5", "-F"],
]


def main(cases):
    need(*{case[0] for case in cases})
    checks = Checks()
    fabric = Fabric()
    for command in cases:
        statuses, outputs = fabric.pair(command, "-p")
        checks.that(statuses == [0, 0], " ".join(command), "\n".join(outputs))
    checks.that(fabric.close(), "nothing is left of the fabric")
    checks.end()


if __name__ == "__main__":
    main(SHORT)
