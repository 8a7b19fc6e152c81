#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Failover without root: two loopback rails, cut by a ucp call; then with tampering, which must
show."""

from failover_run import Checks, Run, check_after_up, check_clean

COUNT = {"dup": "duplicated", "lose": "lost", "corrupt": "corrupted"}


def main():
    checks = Checks()
    run = Run("--netns", "no", "--fault", "500ms:down:rail1,2s:up:rail1", "--seconds", "5")
    check_clean(checks, run)
    if run.report is not None:
        check_after_up(checks, run, False)
    run.remove()
    for how, name in COUNT.items():
        print(f"==== --break={how}", flush=True)
        run = Run("--netns", "no", "--seconds", "1", f"--break={how}", size=3000000)
        checks.that(run.status == 1, f"exit status 1 (is {run.status})")
        checks.that(run.report is not None and run.report[name] > 0, f"the report shows {name}")
        if run.report is not None:
            status, counted = run.judge()
            checks.that(status == 1, "the independent judge finds it too")
            checks.that(counted.get(name) == run.report[name], f"and counts as many: {counted}")
        run.remove()
    checks.end()


main()
