#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`ufx_perftest soak --lockstep`: a seed does the same each time, over each kind of rails; what fails is
repeated by the command that it prints; and who may not have a fabric that is stepped.

    perftest_lockstep.py [SECONDS [SEEDS [FIRST]]]      of each run, which is done twice (3, 1, random)"""

import os
import random
import re
import subprocess
import sys

from perftest_soak import RAILS, SOAK
from swhca_run import BUILD, LIMIT_S, Checks, Fabric, SWHCA, end_all, need, wait_for

OPTIONS = ("--hca", "8", "--rate", "100Mb/s", "--engine", "step")
KINDS = (("", "", {}), *RAILS)


def soak(mine, peers, environment, *words):
    """Status, digest and text of a run on a fabric of its own."""
    rails = ["-d", mine, "--peer-dev", peers] if mine else []
    ended = subprocess.run([SWHCA, "run", *OPTIONS, "--", *SOAK, "--lockstep", *rails, *words],
                           env=dict(os.environ, **environment), stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace",
                           timeout=LIMIT_S * 10, check=False)
    found = re.search(r"^digest +([0-9a-f]{16})$", ended.stdout, re.MULTILINE)
    return ended.returncode, found.group(1) if found else None, ended.stdout


def same_twice(checks, seconds, seed):
    digests = set()
    for mine, peers, environment in KINDS:
        title = f"{mine or 'loopback'} {' '.join(environment.values())}".strip() + f", seed {seed}"
        words = ("--storm", "--seconds", seconds, "--seed", str(seed))
        status, first, text = soak(mine, peers, environment, *words)
        checks.that(status == 0, f"{title}: nothing is wrong", text[-20000:])
        again, second, text = soak(mine, peers, environment, *words)
        checks.that(first is not None and (again, second) == (status, first),
                    f"{title}: the same again", f"{first} {second}\n{text[-3000:]}")
        digests.add(first)
    return digests


def broken(checks):
    mine, peers, environment = RAILS[1]
    environment = dict(environment, UFX_TEST_WORDS="it's two words")
    words = ("--seconds", "30", "--seed", "3", "--break", "corrupt")
    status, first, text = soak(mine, peers, environment, *words)
    last = text.strip().splitlines()[-1]
    checks.that(status == 1 and "not those" in last, f"what is broken is found: {last}", text[-3000:])
    command = re.search(r"^again +(.*)$", text, re.MULTILINE)
    ended = subprocess.run(["sh", "-c", command.group(1) if command else "false"],
                           env=dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}"),
                           capture_output=True, text=True, timeout=LIMIT_S, check=False)
    checks.that(ended.returncode == 1 and f"digest     {first}\n" in ended.stdout and
                last in ended.stderr, "the printed command repeats it", text[-3000:] + ended.stdout)


def refused(checks):
    ended = subprocess.run([*SOAK, "--lockstep"], capture_output=True, text=True, timeout=LIMIT_S,
                           check=False)
    checks.that(ended.returncode == 2 and "--engine step" in ended.stderr,
                "without a stepped fabric it is refused", ended.stderr)
    fabric = Fabric(*OPTIONS)
    first = fabric.start(*SOAK, "--lockstep", "-d", "mlx5_0:1", "--peer-dev", "mlx5_1:1", "--calm",
                         "--seconds", "3600")
    try:
        wait_for(lambda: (fabric.show() or {"processes": []})["processes"], "the first is there")
        status, text = fabric.run("ibv_devinfo")
        checks.that(status != 0 and "for one process" in text, "a second process is refused", text)
        other = subprocess.run([SWHCA, "run", "--dir", fabric.directory, "--engine", "trap", "--",
                                "true"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        checks.that(other.returncode != 0 and "is stepped" in other.stderr,
                    "another engine is refused", other.stderr)
    finally:
        end_all(first)
    checks.that(fabric.close(), "nothing is left of the fabric")


def main(words):
    need("ibv_devinfo")
    checks = Checks()
    seconds = words[0] if words else "3"
    seeds = int(words[1]) if words[1:] else 1
    first = int(words[2]) if words[2:] else random.randrange(1 << 32)
    seen = [same_twice(checks, seconds, seed) for seed in range(first, first + seeds)]
    if not words:
        seen.append({soak("", "", {}, "--storm", "--seconds", seconds, "--seed", str(first + 1))[1]})
        broken(checks)
        refused(checks)
    all_of_them = set().union(*seen)
    checks.that(len(all_of_them) == sum(len(each) for each in seen), "other seeds do other things",
                str(seen))
    checks.end()


if __name__ == "__main__":
    main(sys.argv[1:])
