#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A look into live processes by ufx_info: what they show, who may look, a rail that is taken out of
service while operations run and put back, and what there is without any process."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import time

from failover_run import INFO, PERFTEST, Checks, free_port

LIMIT_S = 60
RAILS = "lo:127.0.0.1,lo:127.0.0.2"


def info(*words):
    return subprocess.run([INFO, *words], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)


def start(environment, *words):
    return subprocess.Popen([PERFTEST, "-d", RAILS, *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=environment)


def dump(folder, pid):
    shown = info("--ep-dump", str(pid), "--json", "--socket-dir", folder)
    return json.loads(shown.stdout) if shown.returncode == 0 else {"rails": []}


def becomes(folder, pid, state):
    """Asks until rail 1 is in that state: each answer takes a turn of the asked process."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        rails = dump(folder, pid)["rails"]
        if len(rails) == 2 and rails[1]["state"] == state:
            return True
    return False


def look_into(checks, folder, server, client):
    place = os.stat(folder)
    checks.that(stat.S_IMODE(place.st_mode) & 0o077 == 0, "nobody else may enter the folder")
    for process in (server, client):
        path = os.path.join(folder, f"{process.pid}.sock")
        checks.that(stat.S_IMODE(os.stat(path).st_mode) == 0o600, f"mode of {path} is 0600")
        text = info("--ep-dump", str(process.pid), "--socket-dir", folder)
        checks.that(text.returncode == 0 and "lo:127.0.0.2" in text.stdout,
                    f"process {process.pid} shows its rails: {text.stderr}")
    several = info("--ep-dump", "--socket-dir", folder)
    checks.that(several.returncode == 2 and str(client.pid) in several.stderr,
                f"two processes: which one? {several.stderr.strip()}")


def drain_and_resume(checks, folder, pid):
    unknown = info("--rail", "rail7", "drain", str(pid), "--socket-dir", folder)
    checks.that(unknown.returncode == 3 and "lo:127.0.0.1" in unknown.stderr,
                f"an unknown rail: {unknown.stderr.strip()}")
    for verb, state in (("drain", "DRAINED"), ("resume", "UP")):
        asked = info("--rail", "rail1", verb, str(pid), "--socket-dir", folder)
        checks.that(asked.returncode == 0, f"{verb}: {asked.stdout.strip()}{asked.stderr.strip()}")
        checks.that(becomes(folder, pid, state), f"after {verb} rail1 becomes {state}")


def without_process(checks):
    for words, text in ((["-v"], "ufx_info "), (["-V"], "ufx_info "), (["-d"], "tcp"),
                        (["-d", "-v"], "put_granularity: 1"), (["-c"], "UFX_LOG_LEVEL="),
                        (["-f"], "# type:"), (["-C", "--dev", RAILS], "lo:127.0.0.2")):
        shown = info(*words)
        checks.that(shown.returncode == 0 and text in shown.stdout,
                    f"{words} shows {text} {shown.stderr}")
    for words in (["-d", "--json"], ["-C", "--dev", RAILS, "--json"]):
        checks.that(isinstance(json.loads(info(*words).stdout), dict), f"{words} is JSON")
    table = info("-d").stdout.splitlines()
    checks.that(len(table) < 30 and any(line.startswith("tcp ") for line in table),
                f"-d is a short table: {table}")


def settings_read_back(checks, folder):
    """What -c prints is a configuration file, of which nothing is to be warned."""
    path = os.path.join(folder, "ufx.conf")
    for words in (["-c"], ["-f"]):
        shown = info(*words)
        with open(path, "w", encoding="utf-8") as file:
            file.write(shown.stdout)
        again = subprocess.run([INFO, *words], capture_output=True, text=True, timeout=LIMIT_S,
                               env=dict(os.environ, UFX_CONFIG_FILE=path), check=False)
        checks.that(again.returncode == 0 and again.stderr == "",
                    f"{words} is read back without a warning: {again.stderr}")
        lines = [line for line in shown.stdout.splitlines() if line.startswith("UFX_")]
        checks.that(not any(line.startswith(("UFX_CONFIG_FILE", "UFX_TRACE_")) for line in lines)
                    and len(lines) > 20, f"{words} has no line that a file cannot set")
    os.remove(path)


def settings_in_effect(checks):
    """-c shows what is in effect, and says what of the environment is not."""
    given = {"UFX_RAIL_GRACE": "soon", "UFX_TCP_SEG_SIZE": "99gb", "UFX_LOG_LEVEL": "loud",
             "UFX_RAIL_GRAZE": "1s", "UFX_STALL_MIN": "70ms"}
    shown = subprocess.run([INFO, "-c"], capture_output=True, text=True, timeout=LIMIT_S,
                           env=dict(os.environ, **given), check=False)
    lines = shown.stdout.splitlines()
    for line in ("UFX_RAIL_GRACE=300ms", "UFX_TCP_SEG_SIZE=64kb", "UFX_LOG_LEVEL=warn",
                 "UFX_STALL_MIN=70ms"):
        checks.that(line in lines, f"-c shows {line}")
    warned = [line for line in shown.stderr.splitlines() if " WARN " in line]
    for text in ("UFX_RAIL_GRACE=soon", "UFX_TCP_SEG_SIZE=99gb", "UFX_LOG_LEVEL=loud",
                 "UFX_RAIL_GRAZE; did you mean UFX_RAIL_GRACE?"):
        checks.that(sum(text in line for line in warned) == 1, f"one warning of {text}")
    checks.that(len(warned) == 4, f"and no other: {shown.stderr}")


def main():
    checks = Checks()
    without_process(checks)
    settings_in_effect(checks)
    folder = tempfile.mkdtemp(prefix="ufx-live-")
    settings_read_back(checks, folder)
    environment = dict(os.environ, UFX_DEBUG_SOCKET=folder)
    port = str(free_port())
    server = start(environment, "-p", port)
    server.stdout.readline()
    client = start(environment, "-p", port, "127.0.0.1", "-t", "ucp_put_bw", "-s", "64k", "-n",
                   "1000000000")
    while client.stdout.readline().startswith(("#", "+", "|")):
        pass  # the first line of figures follows the header: it runs
    look_into(checks, folder, server, client)
    drain_and_resume(checks, folder, client.pid)
    checks.that(client.poll() is None and server.poll() is None, "both still run: nothing failed")
    client.terminate()
    _, errors = client.communicate(timeout=LIMIT_S)
    checks.that("interrupted" in errors, f"the client ends by the signal: {errors.strip()}")
    server.communicate(timeout=LIMIT_S)
    checks.that(os.listdir(folder) == [], "no socket is left")
    shutil.rmtree(folder)
    checks.end()


main()
