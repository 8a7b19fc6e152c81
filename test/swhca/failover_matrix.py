#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every kind of operation against every fault at every step of its life: a sample of the matrix; with
--all the whole of it over rails of rc_mlx5, and larger samples over others.

    failover_matrix.py [--all] [SEED]"""

import os
import subprocess
import sys

from swhca_run import BUILD, Checks, Fabric, end_all, need

PROGRAM = os.path.join(BUILD, "failover_matrix")
SAMPLE, LARGE_SAMPLE = 400, 2500
LIMIT_S = 3600
# Rails of the sender and of the receiver, settings, cases (0: all).
RAILS = (
    ("mlx5_0:1,mlx5_1:1", "mlx5_2:1,mlx5_3:1", {}, 0),
    ("mlx5_0:1,mlx5_1:1", "mlx5_2:1,mlx5_3:1", {"UFX_TLS": "rc_verbs"}, LARGE_SAMPLE),
    ("mlx5_0:1,lo:127.0.0.1", "mlx5_2:1,lo:127.0.0.2", {}, LARGE_SAMPLE),
    ("mlx5_0:1", "mlx5_2:1", {}, LARGE_SAMPLE),
    ("mlx5_0:1,mlx5_1:1,mlx5_4:1,mlx5_5:1", "mlx5_2:1,mlx5_3:1,mlx5_6:1,mlx5_7:1", {},
     LARGE_SAMPLE),
)


def run(checks, sender, receiver, environment, sample, seed):
    fabric = Fabric("--hca", "8", "--rate", "2Gb/s")
    started = fabric.start(PROGRAM, "--sender", sender, "--receiver", receiver, "--sample",
                           str(sample), "--seed", str(seed), environment=environment)
    try:
        text, _ = started.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        text = f"no end within {LIMIT_S} s"
    finally:
        end_all(started)
    title = f"{sender} {' '.join(environment.values())}".strip()
    print(f"{title}\n{text[-20000:]}", flush=True)
    checks.that(started.returncode == 0, f"{title}: {text.strip().splitlines()[-1]}")
    checks.that(fabric.close(), f"{title}: nothing is left")


def main(words):
    need()
    checks = Checks()
    whole = "--all" in words
    seeds = [int(word) for word in words if word.isdecimal()] or [1]
    for sender, receiver, environment, cases in RAILS if whole else RAILS[:1]:
        run(checks, sender, receiver, environment, cases if whole else SAMPLE, seeds[0])
    checks.end()


if __name__ == "__main__":
    main(sys.argv[1:])
