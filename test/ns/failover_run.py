# SPDX-License-Identifier: BSD-3-Clause
"""Runs `ufx_perftest failover` for a test and looks at what it left: the file's sha256 by another
program, the report, the log by contrib/judge_failover.py."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

TOP = os.environ.get("UFX_TEST_SRCDIR", os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.environ.get("UFX_TEST_BUILDDIR", os.path.join(TOP, "build"))
PERFTEST = os.environ.get("UFX_TEST_PERFTEST", os.path.join(BUILD, "ufx_perftest"))
INFO = os.environ.get("UFX_TEST_INFO", os.path.join(BUILD, "ufx_info"))
JUDGE = os.path.join(TOP, "contrib/judge_failover.py")
MISSED = 4  # the data are right, but the faults hit nothing: of the tool and of the judge
INPUT_BYTES = 24 * 1024 * 1024 + 12345  # no multiple of a chunk


def free_port():
    """A TCP port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def skip(reason):
    print(reason)
    sys.exit(77)


def need_namespaces():
    """Ends the test as skipped where namespaces, veth pairs and `ip` cannot be had."""
    if os.geteuid() != 0:
        skip("network namespaces need root")
    if shutil.which("ip") is None:
        skip("`ip` is not installed")
    name = f"ufxprobe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode == 0:
        link = ["ip", "-n", name, "link", "add", "name", "ufxa", "type", "veth",
                "peer", "name", "ufxb"]
        made = subprocess.run(link, capture_output=True, text=True)
        subprocess.run(["ip", "netns", "del", name], check=False)
    if made.returncode != 0:
        skip("no network namespaces here: " + made.stderr.strip())


def namespaces():
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    return {line.split()[0] for line in listed.stdout.splitlines() if line.strip()}


def are_gone(prefix):
    """True if no namespace of that prefix is left; a tool that ended has waited for that."""
    return not any(name.startswith(prefix) for name in namespaces())


class Run:
    """One run in a folder of its own: one command, or a client and a server of these words."""

    def __init__(self, *words, size=INPUT_BYTES, server=None, user=None):
        self.folder = tempfile.mkdtemp(prefix="ufx-failover-")
        self.source = self.path("input")
        self.target = self.path("output")
        who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        with open(self.source, "wb") as file:
            file.write(os.urandom(size))
        if user is not None:
            os.chown(self.folder, user, user)
        receives = ["--output", self.target, "--log", self.path("log")]
        waiting = None if server is None else self.start_server([*receives, *server])
        command = [PERFTEST, "failover", "--input", self.source, "--json",
                   self.path("report.json"), *([] if server else receives), *words]
        print("$", *command, flush=True)
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, timeout=180, errors="replace", cwd=self.folder,
                               **who)
        self.status, self.text = ended.returncode, ended.stdout
        print(self.text, flush=True)
        if waiting is not None:
            print(waiting.communicate(timeout=60)[0], flush=True)
            self.server_status = waiting.returncode
        self.report = None
        if os.path.exists(self.path("report.json")):
            with open(self.path("report.json"), encoding="utf-8") as file:
                self.report = json.load(file)

    def start_server(self, words):
        command = [PERFTEST, "failover", *words]
        print("$", *command, flush=True)
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, cwd=self.folder)
        server.stdout.readline()  # "waiting for a sender"
        return server

    def path(self, name):
        return os.path.join(self.folder, name)

    def sums(self):
        """sha256 of input and output, by sha256sum."""
        listed = subprocess.run(["sha256sum", self.source, self.target], capture_output=True,
                                text=True)
        return [line.split()[0] for line in listed.stdout.splitlines()]

    def judge(self):
        """The independent judge: its exit status and what it counted."""
        ended = subprocess.run([sys.executable, JUDGE, self.source, self.target,
                                self.path("log"), self.path("report.json")],
                               capture_output=True, text=True)
        print(ended.stdout + ended.stderr, flush=True)
        counted = [line for line in ended.stdout.splitlines() if line.startswith("{")]
        return ended.returncode, json.loads(counted[0]) if counted else {}

    def remove(self):
        shutil.rmtree(self.folder)


class Checks:
    """Collects what is wrong, so that one test shows all of it."""

    def __init__(self):
        self.bad = 0

    def that(self, condition, text):
        print(("ok      " if condition else "WRONG   ") + text, flush=True)
        self.bad += 0 if condition else 1

    def end(self):
        sys.exit(1 if self.bad else 0)


def check_clean(checks, run, gate=False):
    """What must hold after every fault that was survived. On a machine that hardly sends, all that
    is outstanding may have landed: that something was replayed is a gate on a quiet one only."""
    checks.that(run.status == 0, f"exit status 0 (is {run.status})")
    check_whole(checks, run)
    report = run.report
    if report is None:
        return
    for name in ("ops_frozen", "switches"):
        checks.that(report[name] > 0, f"{name} is above 0 (is {report[name]})")
    moved = report["ops_replayed"] if gate else report["ops_replayed"] + report["ops_landed"]
    checks.that(moved > 0, f"fragments were replayed ({report['ops_replayed']})"
                           f" or found landed ({report['ops_landed']})")


def check_whole(checks, run):
    """Nothing lost, doubled or changed, whether or not each fault hit traffic."""
    if run.report is None:
        checks.that(False, "there is a report")
        return
    for name in ("lost", "duplicated", "corrupted", "misordered"):
        checks.that(run.report[name] == 0, f"{name} is 0 (is {run.report[name]})")
    sums = run.sums()
    checks.that(len(sums) == 2 and sums[0] == sums[1], f"sha256sum of both files: {sums}")
    judged = run.judge()[0]
    checks.that(judged in (0, MISSED), "the independent judge agrees")
    if run.status == 0:
        checks.that(judged == 0, "also that the faults hit")
    left = sorted(os.listdir(run.folder))
    checks.that(left == ["input", "log", "output", "report.json"], f"nothing else is left: {left}")


def check_rates(checks, run, gate):
    """mbps_during at least 0.4 of before: a gate where the machine is quiet, else only shown."""
    before, during = run.report["mbps_before"] or 0, run.report["mbps_during"] or 0
    share = during / before if before else 0
    text = f"during the outage {during:.1f} MB/s, {share:.2f} of the {before:.1f} before"
    if gate:
        checks.that(share >= 0.4, text)
    else:
        print("seen    " + text)


def check_after_up(checks, run, gate):
    share = run.report["rails"][1]["share_after_up"] or 0
    text = f"after up rail1 carries {100 * share:.0f} % of the bytes"
    if gate:
        checks.that(share >= 0.25, text)
    else:
        checks.that(run.report["rails"][1]["recoveries"] > 0, text + ", and came back")
