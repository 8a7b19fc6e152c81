#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures UFX beside UCX on this machine: the same test by ufx_perftest and by ucx_perftest, in turn,
several times; prints the median of each and their ratio, which is above 1 where UFX is better.

    compare_ucx.py [--rounds N] [--list] [NAME...]      in the build folder

Two processes over tcp on loopback are pinned to CPU 0 and CPU 1; over `self` one is, to CPU 1."""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

UFX = os.environ.get("UFX_TEST_PERFTEST", "./ufx_perftest")
UCX = os.environ.get("UCX_PERFTEST", "ucx_perftest")
LIMIT_S = 60
START_S, TRIES = 5, 4
LATENCY, BANDWIDTH, RATE = 1, 5, 7  # columns of both programs' CSV: median, overall, overall
UNITS = {LATENCY: "us", BANDWIDTH: "MB/s", RATE: "msg/s"}
# Settings of UCX that leave it the transport of the row, as -x and -d do for tests of uct.
UCX_ENVIRONMENT = dict(os.environ, UCX_TLS="tcp", UCX_NET_DEVICES="lo", UCX_LOG_LEVEL="fatal")

# test, bytes, iterations, column
SELF = [("am_bw", 8, 500000, RATE), ("am_bw", 4096, 200000, RATE)]
UCT = [("am_lat", 8, 10000, LATENCY), ("am_lat", 4096, 10000, LATENCY),
       ("am_bw", 8, 100000, RATE), ("am_bw", 4096, 20000, BANDWIDTH)]
UCP = [("ucp_am_lat", 8, 10000, LATENCY), ("ucp_am_lat", 4096, 10000, LATENCY),
       ("ucp_am_bw", 8, 50000, RATE), ("ucp_am_bw", 65536, 2000, BANDWIDTH),
       ("ucp_put_bw", 8, 50000, RATE), ("ucp_put_bw", 4096, 20000, BANDWIDTH),
       ("ucp_put_bw", 65536, 2000, BANDWIDTH), ("ucp_put_bw", 1048576, 300, BANDWIDTH)]


def rows():
    """Name, words of both programs, those of each alone, whether both ends are one process, column."""
    for where, tests in (("self", SELF), ("tcp", UCT), ("tcp", UCP)):
        for test, size, count, column in tests:
            words = ["-t", test, "-s", str(size), "-n", str(count), "-w", str(count // 10), "-f", "-v"]
            device = {"self": ("memory", "memory0"), "tcp": ("lo", "lo")}[where]
            names = [[], []]
            if test.startswith("ucp_"):
                names[0] = ["-d", "lo"]
            else:
                names = [["-x", where, "-d", one] for one in device]
            yield f"{test} {where} {size}", words, names, where == "self", column


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def listens(server, port):
    """Waits without connecting: either server serves its first connection and no other."""
    wanted = f":{port:04X}"
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table, encoding="ascii") as file:
                for words in map(str.split, file):
                    if words[1].endswith(wanted) and words[3] == "0A":  # TCP_LISTEN
                        return True
        time.sleep(0.01)
    return False


def start_server(program):
    """The process and its port. A port that was free may be taken meanwhile: then another."""
    for _ in range(TRIES):
        port = free_port()
        server = subprocess.Popen(["taskset", "-c", "0", program, "-p", port],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=UCX_ENVIRONMENT)
        if listens(server, int(port)):
            return server, port
        server.kill()
        server.wait()
    sys.exit(f"{program} does not listen")


def last_row(text):
    lines = [line.split(",") for line in text.splitlines() if line.count(",") == 7]
    figures = [line for line in lines if line[0].strip().isdigit()]
    return figures[-1] if figures else None


def run_client(command):
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                           env=UCX_ENVIRONMENT)
    return last_row(ended.stdout), ended.stdout[-500:] + ended.stderr[-500:]


def measure(program, words, names, alone, column):
    if alone:
        row, text = run_client(["taskset", "-c", "1", program, "-l", *names, *words])
    else:
        server, port = start_server(program)
        row, text = run_client(["taskset", "-c", "1", program, "127.0.0.1", "-p", port, *names,
                                *words])
        server.terminate()
        server.wait(timeout=LIMIT_S)
    if row is None:
        sys.exit(f"{program} {words}: no figures\n{text}")
    return float(row[column])


def compare(row, rounds):
    name, words, names, alone, column = row
    seen = ([], [])
    for _ in range(rounds):
        for program, own, figures in zip((UFX, UCX), names, seen):
            figures.append(measure(program, words, own, alone, column))
    ufx, ucx = (statistics.median(figures) for figures in seen)
    ratio = ucx / ufx if column == LATENCY else ufx / ucx
    digits = 3 if column == LATENCY else 0
    print(f"| {name} | {UNITS[column]} | {ufx:.{digits}f} | {ucx:.{digits}f} | {ratio:.2f} |",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*", help="only rows with one of these words in their name")
    asked = parser.parse_args()
    for program in (UFX, UCX, "taskset"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is not there")
    chosen = [row for row in rows()
              if not asked.names or any(name in row[0] for name in asked.names)]
    if asked.list:
        print("\n".join(row[0] for row in chosen))
        return
    print("| test, bytes | unit | UFX | UCX | ratio |\n|---|---|---|---|---|", flush=True)
    for row in chosen:
        compare(row, asked.rounds)


main()
