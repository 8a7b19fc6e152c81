#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many faults in a row: random operations against the model with many seeds, then one long transfer
whose two loopback rails flap at random times.

    soak.py [SEED]      SOAK_MODELS seeds (40), SOAK_SECONDS of transfer (60)
"""

import os
import random
import subprocess
import sys

from failover_run import BUILD, Checks, Run, check_whole

MODEL = "ucp: random operations under random faults*"
MODELS = int(os.environ.get("SOAK_MODELS", "40"))
SECONDS = int(os.environ.get("SOAK_SECONDS", "60"))


def run_models(checks, seed):
    for one in range(seed, seed + MODELS):
        command = [os.path.join(BUILD, "test_ucp"), MODEL]
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace",
                               timeout=300, env={**os.environ, "UFX_TEST_SEED": str(one)})
        if ended.returncode != 0:
            print(ended.stdout + ended.stderr, flush=True)
        ran = "All tests passed" in ended.stdout
        checks.that(ended.returncode == 0 and ran, f"model with UFX_TEST_SEED={one}")


def flaps(chance):
    """Downs and ups of either rail, at times both, each down for 0.2 to 1.5 s."""
    steps, at = [], {"rail0": 1.0, "rail1": 1.5}
    for rail, when in at.items():
        while when < SECONDS - 4:
            until = when + chance.uniform(0.2, 1.5)
            steps += [(when, "down", rail), (until, "up", rail)]
            when = until + chance.uniform(0.5, 4)
    return ",".join(f"{when * 1000:.0f}ms:{what}:{rail}" for when, what, rail in sorted(steps))


def run_transfer(checks, seed):
    schedule = flaps(random.Random(seed))
    run = Run("--netns", "no", "--seconds", str(SECONDS), "--fault", schedule)
    check_whole(checks, run)  # a fault may come before its rail is used again
    switches = run.report["switches"] if run.report else 0
    checks.that(switches > 0, f"lanes were switched ({switches})")
    run.remove()


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    checks = Checks()
    run_models(checks, seed)
    run_transfer(checks, seed)
    checks.end()


main()
