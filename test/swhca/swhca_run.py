# SPDX-License-Identifier: BSD-3-Clause
"""Programs under ufx_swhca run: one, or a server and its client on one fabric."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.environ.get("UFX_TEST_SRCDIR", os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.environ.get("UFX_TEST_BUILDDIR", os.path.join(TOP, "build"))
SWHCA = os.path.join(BUILD, "ufx_swhca")
LIMIT_S = 60


def skip(reason):
    print(reason)
    sys.exit(77)


def need(*programs):
    """Skips the test if one of them is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            skip(f"{program} is not installed (contrib/install-deps test)")
    if not os.path.exists(SWHCA):
        skip("ufx_swhca was not built")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def wait_for(condition, what, limit_s=LIMIT_S):
    """Polls until the condition holds; a test that waits for ever fails with what it waited for."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.01)


def listens(port):
    """Whether somebody listens on the TCP port, without connecting to it."""
    wanted = f":{int(port):04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                for line in lines:
                    words = line.split()
                    if len(words) > 3 and words[1].endswith(wanted) and words[3] == "0A":
                        return True
        except FileNotFoundError:
            pass
    return False


def end_all(started):
    """Kills what is left of a launcher and all that it started."""
    if started is None:
        return
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    started.wait()


class Checks:
    """Collects what is wrong, one case a line for the driver."""

    def __init__(self):
        self.bad = 0
        self.results = os.environ.get("UFX_TEST_RESULTS", os.devnull)

    def that(self, condition, text, detail=""):
        print(("ok      " if condition else "WRONG   ") + text, flush=True)
        if not condition and detail:
            print(detail, flush=True)
        self.bad += 0 if condition else 1
        with open(self.results, "a", encoding="utf-8") as out:
            out.write(f":test-result: {'PASS' if condition else 'FAIL'} {text}\n")

    def skip(self, text, reason):
        print(f"skipped {text}: {reason}", flush=True)
        with open(self.results, "a", encoding="utf-8") as out:
            out.write(f":test-result: SKIP {text} # {reason}\n")

    def end(self):
        sys.exit(1 if self.bad else 0)


class Fabric:
    """A directory of a fabric, and programs that run on it."""

    def __init__(self, *options):
        self.folder = tempfile.mkdtemp(prefix="ufx-swhca-test-")
        self.directory = os.path.join(self.folder, "fabric")
        self.options = options

    def start(self, *command, options=(), environment=None):
        words = [SWHCA, "run", "--dir", self.directory, *self.options, *options, "--", *command]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=dict(os.environ, **(environment or {})),
                                start_new_session=True)

    def run(self, *command, limit_s=LIMIT_S, **how):
        started = self.start(*command, **how)
        try:
            output, _ = started.communicate(timeout=limit_s)
        finally:
            end_all(started)
        return started.returncode, output

    def pair(self, command, port_option, *of_client, host="127.0.0.1", **how):
        """The same command as server and, with the host and words of its own, as client; their
        statuses and outputs."""
        port = free_port()
        command = [*command, port_option, port]
        server = self.start(*command, **how)
        client = None
        try:
            wait_for(lambda: listens(port) or server.poll() is not None, f"{command} listens")
            client = self.start(*command, *of_client, host, **how)
            outputs = [client.communicate(timeout=LIMIT_S)[0],
                       server.communicate(timeout=LIMIT_S)[0]]
            return [client.returncode, server.returncode], outputs
        except (subprocess.TimeoutExpired, TimeoutError) as late:
            return [None, None], [str(late), ""]
        finally:
            end_all(server)
            end_all(client)

    def ctl(self, *rules):
        return subprocess.run([SWHCA, "ctl", "--dir", self.directory, *rules], text=True,
                              capture_output=True, timeout=LIMIT_S, check=False)

    def show(self):
        shown = subprocess.run([SWHCA, "show", "--dir", self.directory, "--json"], text=True,
                               capture_output=True, timeout=LIMIT_S, check=False)
        return json.loads(shown.stdout) if shown.returncode == 0 else None

    def close(self):
        """True if the fabric has left nothing behind."""
        try:
            wait_for(lambda: os.listdir(self.folder) == [], "the fabric is removed", 10)
        except TimeoutError:
            print("left:", os.listdir(self.folder))
            return False
        os.rmdir(self.folder)
        return True
