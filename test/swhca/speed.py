#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast the software HCA is on this machine: perftest between two processes, by each engine; then
one port, and two rails of ufx_perftest, at a set rate. By hand, on a machine with nothing else to do.

    speed.py [--rounds N]       in the build folder; prints the median of each row and its range"""

import argparse
import os
import re
import statistics

from swhca_run import BUILD, Fabric, need

PERFTEST = os.path.join(BUILD, "ufx_perftest")
MIB_PER_GBIT = 1e9 / 8 / 2**20
LATENCY, BANDWIDTH = 4, 3  # columns of perftest: typical in us, average in MB/s of 2^20 bytes


def perftest(*command, column, rate=None, engine="trap"):
    """One number of a perftest program between two processes."""
    fabric = Fabric("--engine", engine, *(["--rate", rate] if rate else []))
    statuses, outputs = fabric.pair([*command, "-F"], "-p")
    fabric.close()
    rows = re.findall(r"^ +\d+ +\d+ .*\d", outputs[0], re.MULTILINE)
    if statuses != [0, 0] or not rows:
        raise SystemExit("\n".join([" ".join(command) + " failed", *outputs]))
    return float(rows[-1].split()[column])


def two_rails(rate):
    """MB/s of 1 MB puts over two rails that have this rate each."""
    fabric = Fabric("--hca", "2", "--rate", rate)
    rails = ["-d", "mlx5_0:1,mlx5_1:1", "-t", "ucp_put_bw", "-s", "1048576", "-n", "1000", "-f", "-v"]
    statuses, outputs = fabric.pair([PERFTEST], "-p", *rails)
    fabric.close()
    rows = [line for line in outputs[0].splitlines() if line.count(",") == 7]
    if statuses != [0, 0] or not rows:
        raise SystemExit("\n".join(["ufx_perftest failed", *outputs]))
    return float(rows[-1].split(",")[5])


def report(name, unit, rounds, measure, wanted=None):
    got = [measure() for _ in range(rounds)]
    middle = statistics.median(got)
    beside = f", {100 * (middle / wanted - 1):+.1f} % of {wanted:.1f}" if wanted else ""
    print(f"{name:42} {middle:9.2f} {unit} ({min(got):.2f} to {max(got):.2f}){beside}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    need("ib_write_bw", "ib_write_lat", "ib_send_lat")
    write = ["ib_write_bw", "-s", "1048576"]
    for engine in ("trap", "hook", "thread"):
        report(f"ib_write_bw 1 MB, {engine}", "MB/s", rounds,
               lambda: perftest(*write, "-n", "2000", column=BANDWIDTH, engine=engine))
    for engine in ("trap", "hook"):
        for program in ("ib_write_lat", "ib_send_lat"):
            report(f"{program} 8 B, {engine}", "us  ", rounds,
                   lambda: perftest(program, "-s", "8", "-n", "5000", column=LATENCY, engine=engine))
    for gbits, count in ((1, "300"), (10, "2000")):
        report(f"ib_write_bw 1 MB, --rate {gbits}Gb/s", "MB/s", rounds,
               lambda: perftest(*write, "-n", count, column=BANDWIDTH, rate=f"{gbits}Gb/s"),
               gbits * MIB_PER_GBIT)
    report("ufx ucp_put_bw 1 MB, 2 rails, 1Gb/s each", "MB/s", rounds,
           lambda: two_rails("1Gb/s"), 2 * MIB_PER_GBIT)


if __name__ == "__main__":
    main()
