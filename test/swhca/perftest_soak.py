#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`ufx_perftest soak`: over loopback, over rails of the software HCA, over both; and what is broken on
purpose is found.

    perftest_soak.py [SECONDS [SEED]]       of each run (8), by a random seed"""

import os
import re
import subprocess
import sys

from swhca_run import BUILD, LIMIT_S, Checks, Fabric, end_all, need

SOAK = [os.path.join(BUILD, "ufx_perftest"), "soak"]
RAILS = (
    ("mlx5_0:1,mlx5_1:1", "mlx5_2:1,mlx5_3:1", {}),
    ("mlx5_0:1,mlx5_1:1", "mlx5_2:1,mlx5_3:1", {"UFX_TLS": "rc_verbs"}),
    ("mlx5_0:1,lo:127.0.0.1", "mlx5_2:1,lo:127.0.0.2", {}),
    ("mlx5_0:1,mlx5_1:1,mlx5_4:1,mlx5_5:1", "mlx5_2:1,mlx5_3:1,mlx5_6:1,mlx5_7:1", {}),
)


def count_faults(text):
    """Of the last summary, `N operations, ... bytes, N faults (...)`."""
    found = re.findall(r"operations, .*, (\d+) faults", text)
    return int(found[-1]) if found else 0


def call(*words):
    return subprocess.run([*SOAK, *words], capture_output=True, text=True, errors="replace",
                          timeout=LIMIT_S * 10, check=False)


def broken(checks):
    for how, text in (("dup", "came again"), ("lose", "came as number"), ("corrupt", "not those")):
        ended = call("--seconds", "30", "--calm", "--seed", "3", "--break", how)
        checks.that(ended.returncode == 1 and text in ended.stderr, f"--break {how} is found",
                    ended.stdout[-3000:] + ended.stderr)
    ended = call("--break", "x")
    checks.that(ended.returncode == 2 and "dup, lose or corrupt" in ended.stderr,
                "a wrong word is refused", ended.stderr)


def judge(checks, title, status, text, errors=""):
    """A run without a fault shows nothing."""
    lines = text.strip().splitlines()
    checks.that(status == 0 and count_faults(text) > 0,
                f"{title}: {lines[-2] if len(lines) > 1 else text}", text[-20000:] + errors)


def over_rails(checks, mine, peers, environment, times):
    fabric = Fabric("--hca", "8", "--rate", "2Gb/s")
    started = fabric.start(*SOAK, "-d", mine, "--peer-dev", peers, *times, environment=environment)
    try:
        text, _ = started.communicate(timeout=LIMIT_S * 10 + float(times[1]))
    except subprocess.TimeoutExpired:
        text = "no end"
    finally:
        end_all(started)
    title = f"{mine} {' '.join(environment.values())}".strip()
    judge(checks, title, started.returncode, text)
    checks.that(fabric.close(), f"{title}: nothing is left")


def main(words):
    need()
    checks = Checks()
    times = ["--seconds", words[0] if words else "8", *(["--seed", words[1]] if words[1:] else [])]
    broken(checks)
    ended = call(*times)
    judge(checks, "loopback", ended.returncode, ended.stdout, ended.stderr)
    for mine, peers, environment in RAILS:
        over_rails(checks, mine, peers, environment, times)
    checks.end()


if __name__ == "__main__":
    main(sys.argv[1:])
