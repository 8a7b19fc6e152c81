#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Failover over two loopback rails, cut by a ucp call: with both sides in one command, as a server
and a client, without root, and with tampering, which must show."""

import json
import os
import shutil
import subprocess
import tempfile

from failover_run import (MISSED, TOP, PERFTEST, Checks, Run, check_after_up, check_clean, check_whole,
                          free_port)

COUNT = {"dup": "duplicated", "lose": "lost", "corrupt": "corrupted"}
RAILS = ["-d", "lo:127.0.0.1,lo:127.0.0.2"]
FLAP = ["--fault", "500ms:down:rail1,2s:up:rail1", "--seconds", "5"]
NOBODY = 65534


def in_one_command(checks):
    run = Run("--netns", "no", *FLAP)
    check_clean(checks, run)
    if run.report is not None:
        check_after_up(checks, run, False)
    run.remove()


def tampered(checks):
    for how, name in COUNT.items():
        print(f"==== --break={how}", flush=True)
        run = Run("--netns", "no", "--seconds", "1", f"--break={how}", size=3000000)
        checks.that(run.status == 1, f"exit status 1 (is {run.status})")
        checks.that(run.report is not None and run.report[name] > 0, f"the report shows {name}")
        checks.that(f"--break={how} tampered" in run.text, "the verdict says who asked for it")
        if run.report is not None:
            status, counted = run.judge()
            checks.that(status == 1, "the independent judge finds it too")
            checks.that(counted.get(name) == run.report[name], f"and counts as many: {counted}")
        run.remove()


def as_server_and_client(checks):
    """The server has --output and --log, the client all else."""
    print("==== a server and a client", flush=True)
    port = str(free_port())
    draws = shutil.which("gnuplot") is not None
    run = Run(*RAILS, *FLAP, *(["--plot", "plot.svg"] if draws else []), "-p", port, "127.0.0.1",
              server=[*RAILS, "-p", port])
    checks.that(run.server_status == 0, f"the server ends with {run.server_status}")
    if draws:
        with open(run.path("plot.svg"), encoding="utf-8") as file:
            checks.that("rail1 down" in file.read(), "the plot shows the fault")
        os.remove(run.path("plot.svg"))
    check_clean(checks, run)
    run.remove()
    run = Run(*RAILS, "--seconds", "1", "--break=lose", "-p", port, "127.0.0.1",
              server=[*RAILS, "-p", port], size=3000000)
    checks.that((run.status, run.server_status) == (1, 1), "both ends say that chunks were lost")
    checks.that(not os.path.exists(run.target), "and there is no output")
    run.remove()


def commands_for_two_hosts(document):
    """The words after `failover` of the two commands that a document shows: receiver, sender."""
    with open(os.path.join(TOP, document), encoding="utf-8") as file:
        shown = [line.split("#")[0].replace("\\-", "-").split()[2:] for line in file
                 if line.strip().startswith("ufx_perftest failover")]
    return ([words for words in shown if "--output" in words and "--input" not in words],
            [words for words in shown if words[-1] == "HOST"])


def as_the_documents_say(checks):
    """README and manual show the same two commands for two hosts; here they run, on one."""
    print("==== as README and manual show it", flush=True)
    receiver, sender = commands_for_two_hosts("README.md")
    checks.that((receiver, sender) == commands_for_two_hosts("docs/ufx_perftest.1"),
                f"both show the same: {receiver}, {sender}")
    checks.that(receiver == [["--output", "COPY"]] and sender[0][:2] == ["--input", "FILE"],
                "of which the test gives the files")
    names = {"HOST": "127.0.0.1", "eth1,eth2": RAILS[1]}
    port = ["-p", str(free_port())]
    run = Run(*port, *[names.get(word, word) for word in sender[0][2:]], server=port)
    checks.that(run.server_status == 0, f"the receiver ends with {run.server_status}")
    check_clean(checks, run)
    run.remove()


def with_json_on_stdout(checks):
    """Then nothing else is there, whatever the network."""
    print("==== --json -", flush=True)
    folder = tempfile.mkdtemp(prefix="ufx-json-")
    source = os.path.join(folder, "input")
    with open(source, "wb") as file:
        file.write(os.urandom(300000))
    failover = [PERFTEST, "failover", "--input", source, "--output", source + ".copy",
                "--seconds", "0.3"]
    for command in ([*failover, "--netns", "no"], failover,
                    [PERFTEST, "-l", "-t", "put_lat", "-n", "100"],
                    [PERFTEST, "-l", "-t", "put_lat", "-n", "100", "-v", "--validate"]):
        ended = subprocess.run([*command, "--json", "-"], capture_output=True, text=True,
                               timeout=60, check=False)
        try:
            shown = json.loads(ended.stdout)
        except ValueError:
            shown = ended.stdout
        checks.that(ended.returncode == 0 and isinstance(shown, dict),
                    f"{command[1:]}: {ended.returncode}, {str(shown)[:80]} {ended.stderr[-200:]}")
    shutil.rmtree(folder)


def inconclusive(checks):
    """Right data, but no failover: with all rails cut there is none to go over to."""
    print("==== no failover to be seen", flush=True)
    run = Run("--netns", "no", "--fault", "300ms:down:rail0,300ms:down:rail1,600ms:up:rail1",
              "--seconds", "1", size=3000000)
    checks.that(run.status == MISSED, f"exit status {MISSED} (is {run.status})")
    checks.that(run.judge()[0] == MISSED, "the judge has seen no failover either")
    check_whole(checks, run)
    checks.that("INCONCLUSIVE: " in run.text and "leave a rail up" in run.text,
                "the verdict says so, and what to do")
    if run.report is not None:
        checks.that(run.report["verdict"] == "inconclusive" and run.report["advice"] is not None
                    and len(run.report["reasons"]) == 1, f"the report, too: {run.report['reasons']}")
    run.remove()


def picture_without_room(checks):
    """What gnuplot cannot write is an error, and no half of it is left."""
    if shutil.which("gnuplot") is None:
        return
    print("==== no room for the plot", flush=True)
    folder = tempfile.mkdtemp(prefix="ufx-plot-")
    source, plot = os.path.join(folder, "input"), os.path.join(folder, "plot.svg")
    with open(source, "wb") as file:
        file.write(os.urandom(2000))
    ended = subprocess.run(
        ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh", PERFTEST, "failover",
         "--netns", "no", "--input", source, "--output", source + ".copy", "--seconds", "0.5",
         "--plot", plot], capture_output=True, text=True, timeout=60, check=False)
    checks.that(ended.returncode == 3 and f"cannot write {plot}" in ended.stderr,
                f"{ended.returncode}, {ended.stderr}")
    left = sorted(os.listdir(folder))
    checks.that(left == ["input", "input.copy"], f"no picture is left: {left}")
    shutil.rmtree(folder)


def with_no_rail_left(checks):
    """Whoever watches learns that nothing can move, and how long the peer is waited for."""
    print("==== no rail left", flush=True)
    os.environ["UFX_PEER_TIMEOUT"] = "1s"
    run = Run("--netns", "no", "--fault", "200ms:down:rail0,200ms:down:rail1,55s:up:rail0",
              "--seconds", "60", size=3000000)
    del os.environ["UFX_PEER_TIMEOUT"]
    checks.that(run.status == 3, f"exit status 3 (is {run.status})")
    checks.that(run.text.count("all rails are down") == 1 and "UFX_PEER_TIMEOUT=1s" in run.text,
                "the commentary says that no rail is left, once, and what it waits for")
    checks.that(not os.path.exists(run.target), "and there is no output")
    run.remove()


def without_root(checks):
    if os.geteuid() != 0:
        return  # all of the above ran so
    print("==== without root", flush=True)
    tried = subprocess.run([PERFTEST, "--help"], capture_output=True, user=NOBODY, group=NOBODY,
                           extra_groups=[], check=False)
    if tried.returncode != 0:
        print("seen    others may not run what was built here")
        return
    run = Run(*FLAP, user=NOBODY)
    checks.that("loopback" in run.text, "both sides meet over loopback")
    check_clean(checks, run)
    run.remove()


def main():
    checks = Checks()
    in_one_command(checks)
    tampered(checks)
    as_server_and_client(checks)
    as_the_documents_say(checks)
    with_json_on_stdout(checks)
    inconclusive(checks)
    picture_without_room(checks)
    with_no_rail_left(checks)
    without_root(checks)
    checks.end()


main()
