#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A file over two rails of the software HCA while one of them fails in each of the ways below:
nothing is lost, doubled or corrupted, by the tool's report, by sha256sum and by the judge. A fault that
could not be commanded is no fault that was survived: its case is skipped, with what was said.
rows: U14 U15 G12 G14

    rdma_failover.py [--all | CASE ...]     cases are the keys of FAULTS and SCENES
"""

import json
import os
import subprocess
import sys

from swhca_run import BUILD, LIMIT_S, TOP, Checks, Fabric, end_all, need

RAILS = "mlx5_0:1,mlx5_1:1"
HIT, HEAL = "at 500ms hca mlx5_1", "at 1200ms hca mlx5_1"
# What happens to rail 1, and whether its lanes are sealed, and whether the rail comes back.
FAULTS = {
    "port": ([f"{HIT} port-down", f"{HEAL} port-up"], True, True),
    "silent port": ([f"{HIT} port-down silent", f"{HEAL} port-up silent"], True, True),
    "requests lost": (["at 500ms until 1200ms hca mlx5_1 drop requests"], True, True),
    "answers lost": (["at 500ms until 1200ms hca mlx5_1 drop responses"], True, True),
    # Several times: a lane on which nothing is under way just then is replaced and counts nowhere.
    "queue pair": (["at 500ms every 150ms until 1000ms hca mlx5_1 qp-error"], True, False),
    "device": ([f"{HIT} device-fatal"], True, False),
    "device reset": ([f"{HIT} device-fatal", f"{HEAL} device-reset"], True, True),
    "completion": ([f"{HIT} error-cqe RETRY_EXC_ERR count 1"], True, False),
    "request swallowed": (["at 500ms until 1200ms hca mlx5_1 swallow count 1"], True, False),
    "completion queue": ([f"{HIT} stall-cq", f"{HEAL} unstall-cq"], True, False),
    "address": ([f"{HIT} clear-gid 1"], True, False),
    "bad cable": (["at 500ms hca mlx5_1 drop probability 0.01",
                   "at 500ms hca mlx5_1 corrupt probability 0.01",
                   "at 500ms hca mlx5_1 reorder 50us probability 0.01"], False, False),
}
# The port is back, and no queue pair can be connected for half a second: the rail is probed first.
NOT_USABLE = "port, not usable at first"
FAULTS[NOT_USABLE] = ([f"{HIT} port-down", f"{HEAL} port-up",
                       "at 500ms until 1700ms hca mlx5_1 fail-modify-qp EINVAL to RTR"], True, True)
# Without an event: the next lane takes the address that the port has then.
FAULTS["address, silently"] = ([f"{HIT} gid 1 10.77.0.99 silent",
                                "at 510ms every 150ms until 1000ms hca mlx5_1 qp-error"],
                               True, False)
QUICK_PROBES = {"UFX_RAIL_HOLDOFF": "100ms", "UFX_RAIL_HOLDOFF_MAX": "300ms"}
IN_CHECK = ("port", NOT_USABLE, "answers lost", "queue pair", "device reset", "completion")
# More than one rail: devices, rules.
SCENES = {
    "all ports": (RAILS, ["at 500ms port-down", "at 1200ms port-up"]),
    "all ports silently, one returns": (RAILS, ["at 500ms port-down silent",
                                                "at 1200ms hca mlx5_0 port-up silent"]),
    "the second rail during the replay": (RAILS, [f"{HIT} port-down silent",
                                                  "at 820ms hca mlx5_0 qp-error",
                                                  "at 1500ms hca mlx5_1 port-up silent"]),
    "the only rail": ("mlx5_0:1", ["at 500ms qp-error", "at 900ms qp-error",
                                   "at 1300ms qp-error"]),
    "three of four": ("mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
                      [f"{HIT} port-down", "at 600ms hca mlx5_2 qp-error",
                       "at 700ms hca mlx5_3 device-fatal", f"{HEAL} port-up"]),
}
# Other rails than two of rc_mlx5.
OTHERS = ((RAILS, {"UFX_TLS": "rc_verbs"}), ("lo:127.0.0.1,mlx5_1:1", {}))
SECONDS = "3"
INPUT_BYTES = 24 * 1024 * 1024 + 12345  # no multiple of a chunk


class NoFault(Exception):
    """The tool that makes faults did not work."""


def send(fabric, devices, rules, environment):
    """Sends the file; the faults count from the moment when all rails are connected."""
    refused = ""
    path = {name: os.path.join(fabric.folder, name) for name in ("in", "out", "log", "json")}
    with open(path["in"], "wb") as file:
        file.write(os.urandom(INPUT_BYTES))
    started = fabric.start(
        os.path.join(BUILD, "ufx_perftest"), "failover", "--input", path["in"], "--output",
        path["out"], "--log", path["log"], "--json", path["json"], "-d", devices, "--seconds",
        SECONDS, environment=environment)
    text = ""
    try:
        for line in started.stdout:
            text += line
            if line.startswith("connected over"):
                commanded = fabric.ctl(*rules)
                refused = commanded.stderr.strip() if commanded.returncode != 0 else ""
                break
        text += started.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        text += f"no end within {LIMIT_S} s\n"
    finally:
        end_all(started)
    report = {}
    if os.path.exists(path["json"]):
        with open(path["json"], encoding="utf-8") as file:
            report = json.load(file)
    judged = subprocess.run([sys.executable, os.path.join(TOP, "contrib/judge_failover.py"),
                             path["in"], path["out"], path["log"], path["json"]],
                            capture_output=True, text=True, check=False)
    for each in path.values():
        if os.path.exists(each):
            os.remove(each)
    if refused:
        raise NoFault(refused)
    return started.returncode, text + judged.stdout + judged.stderr, report, judged.returncode == 0


def run_case(checks, name, devices=RAILS, environment=None):
    rules, seals, returns = FAULTS[name]
    fabric = Fabric("--hca", "2", "--rate", "1Gb/s")
    title = f"{name}, {devices}" + "".join(f", {each}" for each in (environment or {}).values())
    probes = QUICK_PROBES if name == NOT_USABLE else {}
    try:
        status, text, report, agrees = send(fabric, devices, rules, {**(environment or {}), **probes})
    except NoFault as refused:
        checks.skip(title, refused)
        return
    wrong = [key for key in ("lost", "duplicated", "corrupted", "misordered")
             if report.get(key) != 0]
    checks.that(not wrong and agrees, f"{title}: all arrived, once and in order", text[-6000:])
    rail = report.get("rails", [{}, {}])[1]
    if seals:
        checks.that((report.get("failovers") or rail.get("failures", 0)) and status == 0,
                    f"{title}: the fault hit and was survived", text[-6000:])
    if returns:
        checks.that(rail.get("recoveries", 0) > 0 and rail.get("state") == "UP",
                    f"{title}: the rail is used again", text[-6000:])
    if name == NOT_USABLE and "mlx5_1:1" in devices:
        checks.that("cannot go to RTR" in text, f"{title}: it was tried in vain", text[-6000:])
    checks.that(fabric.close(), f"{title}: nothing is left")


def run_scene(checks, name):
    devices, rules = SCENES[name]
    fabric = Fabric("--hca", "4", "--rate", "1Gb/s")
    try:
        status, text, report, agrees = send(fabric, devices, rules, {})
    except NoFault as refused:
        checks.skip(name, refused)
        return
    checks.that(status == 0 and agrees and report.get("failovers"),
                f"{name}: survived, all arrived, once and in order", text[-6000:])
    checks.that(fabric.close(), f"{name}: nothing is left")


def kill_table(checks):
    """kill -9 and SIGSTOP of either side in each phase (test/mp)."""
    fabric = Fabric("--hca", "2")
    started = fabric.start(os.path.join(BUILD, "kill_table"), environment={"UFX_TEST_RAILS": RAILS})
    text = started.communicate(timeout=10 * LIMIT_S)[0]
    checks.that(started.returncode == 0, f"killed and stopped sides: {text.splitlines()[-1]}", text)
    checks.that(fabric.close(), "killed and stopped sides: nothing is left")


def main(words):
    need()
    checks = Checks()
    if words == ["--all"]:
        kill_table(checks)
    if words != ["--all"] and not {*words} <= {*FAULTS, *SCENES}:
        sys.exit(f"cases are: {', '.join([*FAULTS, *SCENES])}")
    for name in SCENES if words == ["--all"] else [word for word in words if word in SCENES]:
        run_scene(checks, name)
    names = FAULTS if words == ["--all"] else [word for word in words if word in FAULTS]
    names = names if words else IN_CHECK
    for name in names:
        run_case(checks, name)
    for devices, environment in OTHERS:
        for name in names if words else ("queue pair",):
            run_case(checks, name, devices, environment)
    checks.end()


if __name__ == "__main__":
    main(sys.argv[1:])
