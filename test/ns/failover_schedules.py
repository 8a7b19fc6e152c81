#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The three schedules by which failover is judged, in two network namespaces.

    failover_schedules.py [--strict] [del|flaps|oneway|both ...]

--strict also gates what depends on the machine's load: throughput during and after the outage.
"""

import os
import sys

from failover_run import (Checks, Run, are_gone, check_after_up, check_clean, check_rates,
                          check_whole, need_namespaces)

SCHEDULES = {
    # A rail is gone for ever.
    "del": "1s:del:rail1",
    # Down and up, twice.
    "flaps": "1s:down:rail1,3s:up:rail1,6s:down:rail1,8s:up:rail1",
    # Data arrives, acknowledgements do not.
    "oneway": "1s:oneway:rail1,4s:heal:rail1",
}
SECONDS = {"del": "4", "flaps": "12", "oneway": "8"}
# Beside the three: all rails at once, so that there is none to switch to.
BOTH = "1s:down:rail0,1s:down:rail1,2s:up:rail0,2s:up:rail1"


def all_rails(checks):
    """Every rail is lost and comes back: traffic waits, and both carry again."""
    print(f"==== both: {BOTH}", flush=True)
    prefix = f"ufxtest{os.getpid()}both"
    run = Run("--netns", prefix, "--fault", BOTH, "--seconds", "9")
    check_whole(checks, run)
    for rail in run.report["rails"] if run.report else []:
        checks.that(rail["state"] == "UP", f"{rail['name']} is UP in the end (is {rail['state']})")
    run.remove()


def main():
    need_namespaces()
    strict = "--strict" in sys.argv
    names = [word for word in sys.argv[1:] if word != "--strict"] or [*SCHEDULES, "both"]
    checks = Checks()
    if "both" in names:
        names.remove("both")
        all_rails(checks)
    for name in names:
        print(f"==== {name}: {SCHEDULES[name]}", flush=True)
        prefix = f"ufxtest{os.getpid()}{name}"
        run = Run("--netns", prefix, "--fault", SCHEDULES[name], "--seconds", SECONDS[name])
        check_clean(checks, run, strict)
        checks.that(are_gone(prefix), "its namespaces are gone")
        if run.report is not None:
            check_rates(checks, run, strict)
            if name == "oneway" and strict:
                landed = run.report["ops_landed"]
                checks.that(landed > 0, f"ops_landed is above 0 (is {landed})")
            if name != "del":
                check_after_up(checks, run, strict)
        run.remove()
    checks.end()


main()
