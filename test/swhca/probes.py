#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What programs do by accident, done by intent, by each engine: threads, signals, descriptors."""

import os
import subprocess

from swhca_run import BUILD, Checks, Fabric, need

PROBE = os.path.join(BUILD, "swhca_probe")


def main():
    need(PROBE)
    checks = Checks()
    cases = subprocess.run([PROBE, "--list"], capture_output=True, text=True, check=True).stdout
    for engine in ("trap", "hook", "thread"):
        fabric = Fabric("--engine", engine)
        for case in cases.split():
            try:
                status, output = fabric.run(PROBE, case)
            except subprocess.TimeoutExpired as late:
                status, output = None, str(late)
            checks.that(status == 0, f"{case} ({engine})", output)
        checks.that(fabric.close(), f"nothing is left of the fabric ({engine})")
    checks.end()


main()
