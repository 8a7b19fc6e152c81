#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every measurement of ufx_perftest once, as a user runs it: a server and a client, data checked,
numbers in the columns and in the JSON; then what happens when one of the two is killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from failover_run import PERFTEST, TOP, Checks, free_port

LIMIT_S = 120  # of a run; they take milliseconds on a quiet machine
PORT = str(free_port())
FEW = ["-n", "40", "-w", "4", "--validate"]
UCT = ["am_lat", "am_bw", "put_lat", "put_bw", "get_lat", "get_bw", "fadd", "cswap"]
UCP = ["ucp_put_lat", "ucp_put_bw", "ucp_get_bw", "ucp_am_lat", "ucp_am_bw", "ucp_fadd"]
THREADED = ["ucp_put_bw", "ucp_get_bw", "ucp_am_bw", "ucp_fadd"]
COLUMNS = 9  # "Final:" and the eight figures


def cases():
    """Name, words of both sides, words of the client alone; size None: that of the test."""
    for name in UCT + UCP:
        both = ["-d", "lo"] + (["-x", "tcp"] if name in UCT else [])
        sizes = [None] if name.endswith(("fadd", "cswap")) else ["8", "4096", "1M"]
        for size in sizes:
            if name.startswith("am_") and size == "1M":
                size = "512k"  # an active message of uct tcp has an upper limit
            yield name, both, ["-t", name] + (["-s", size] if size else [])
    for name in THREADED:
        yield f"{name} of 3 threads", ["-d", "lo"], ["-t", name, "-T", "3"]
    for layout in ("short", "bcopy", "zcopy"):
        yield f"{layout} puts", ["-d", "lo", "-x", "tcp"], ["-t", "put_bw", "-D", layout]


def start_server(words):
    server = subprocess.Popen([PERFTEST, "-p", PORT, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    server.stdout.readline()  # "waiting for a client"
    return server


def check_figures(checks, name, text, report):
    final = [line.split() for line in text.splitlines() if line.startswith("Final:")]
    checks.that(len(final) == 1 and len(final[0]) == COLUMNS, f"{name}: one line of figures")
    with open(report, encoding="utf-8") as file:
        figures = json.load(file)
    os.remove(report)
    iterations, overall = figures["iterations"], figures["overall_us"]
    checks.that(iterations == 40 and overall > 0 and figures["overall_rate"] > 0,
                f"{name}: {iterations} iterations, {overall} us, {final}")


def run_pair(checks, report, name, both, client_words):
    server = start_server(both)
    client = subprocess.run([PERFTEST, "127.0.0.1", "-p", PORT, *both, *client_words, *FEW,
                             "--json", report], capture_output=True, text=True, timeout=LIMIT_S,
                            check=False)
    _, errors = server.communicate(timeout=LIMIT_S)
    fine = client.returncode == 0 and server.returncode == 0
    checks.that(fine, f"{name}: client {client.returncode}, server {server.returncode}"
                      f" {client.stderr}{errors}")
    if fine:
        check_figures(checks, name, client.stdout, report)


def run_loopback(checks, report):
    for name in UCT:
        ended = subprocess.run([PERFTEST, "-l", "-x", "self", "-t", name, *FEW, "--json", report],
                               capture_output=True, text=True, timeout=LIMIT_S, check=False)
        checks.that(ended.returncode == 0, f"{name} over self: {ended.returncode} {ended.stderr}")
        if ended.returncode == 0:
            check_figures(checks, f"{name} over self", ended.stdout, report)


def run_examples(checks):
    """The lines of --help that name a host, as they stand there, against a server that was started
    as the help says: without any option. Then a transport and a device that nobody named."""
    shown = subprocess.run([PERFTEST, "--help"], capture_output=True, text=True, check=False).stdout
    examples = [line.split("  ")[1].split()[1:] for line in shown.splitlines()
                if line.startswith("  ufx_perftest localhost")]
    checks.that(len(examples) >= 2, f"the help has examples: {examples}")
    for words in [*examples, ["localhost", "-t", "am_lat"], ["localhost", "-t", "put_bw", "-d", "lo"],
                  ["localhost", "-t", "ucp_am_bw", "-d", "lo:127.0.0.1,lo:127.0.0.2"]]:
        server = start_server([])
        client = subprocess.run([PERFTEST, *words, "-p", PORT, *FEW], capture_output=True,
                                text=True, timeout=LIMIT_S, check=False)
        _, errors = server.communicate(timeout=LIMIT_S)
        checks.that((client.returncode, server.returncode) == (0, 0),
                    f"{words} against a bare server: {client.stderr}{errors}")


def check_final_only(checks):
    """-f is the last line alone, -v with it has no head either."""
    for words, begins in ((["-f"], "Final:"), (["-f", "-v"], "40,")):
        shown = subprocess.run([PERFTEST, "-l", "-t", "am_lat", *words, *FEW], capture_output=True,
                               text=True, timeout=LIMIT_S, check=False)
        checks.that(shown.stdout.startswith(begins) and shown.stdout.count("\n") == 1,
                    f"{words} prints one line: {shown.stdout!r}")


def compare_with_ucx(checks):
    """The comparison of docs/performance.md still understands both programs."""
    if shutil.which("ucx_perftest") is None or shutil.which("taskset") is None:
        print("seen    no ucx_perftest to compare with")
        return
    shown = subprocess.run([sys.executable, os.path.join(TOP, "contrib/compare_ucx.py"),
                            "--rounds", "1", "am_bw self 8"], capture_output=True, text=True,
                           timeout=LIMIT_S, env=dict(os.environ, UFX_TEST_PERFTEST=PERFTEST),
                           check=False)
    row = shown.stdout.splitlines()[-1].split("|") if shown.stdout else []
    checks.that(shown.returncode == 0 and len(row) == 7 and float(row[5]) > 0,
                f"a row beside UCX: {row} {shown.stderr}")


def kill_one(checks, test, both, victim):
    """Whoever is left says why it ends, and does not hang."""
    server = start_server(both)
    client = subprocess.Popen([PERFTEST, "127.0.0.1", "-p", PORT, *both, "-t", test, "-n",
                               "1000000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    while client.stdout.readline().startswith(("#", "+", "|")):
        pass  # the first line of figures follows the header: it runs
    gone, left = (server, client) if victim == "server" else (client, server)
    gone.send_signal(signal.SIGKILL)
    gone.communicate()
    _, errors = left.communicate(timeout=LIMIT_S)
    lines = [line for line in errors.splitlines() if line.startswith("ufx_perftest:")]
    checks.that(left.returncode == 3 and len(lines) == 1,
                f"{test}, {victim} killed: the other ends with {left.returncode}, {lines}")


def main():
    checks = Checks()
    report = os.path.join(tempfile.mkdtemp(prefix="ufx-measure-"), "report.json")
    for name, both, client_words in cases():
        run_pair(checks, report, name, both, client_words)
    run_loopback(checks, report)
    run_examples(checks)
    check_final_only(checks)
    compare_with_ucx(checks)
    for victim in ("server", "client"):
        kill_one(checks, "am_bw", ["-x", "tcp", "-d", "lo"], victim)
        kill_one(checks, "ucp_put_bw", ["-d", "lo"], victim)
    os.rmdir(os.path.dirname(report))
    checks.end()


main()
