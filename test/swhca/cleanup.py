#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is left of a fabric, whoever of its launchers, programs and cleaners is killed; and signals
reach the program once."""

import fcntl
import glob
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import termios

from swhca_run import LIMIT_S, SWHCA, Checks, Fabric, end_all, need, wait_for

WAITS = ["sh", "-c", "echo here; read line"]  # until its input ends
SIGNALS = """
import signal, sys
wanted = [signal.SIGINT, signal.SIGTERM]
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("here", flush=True)
while True:
    info = signal.sigwaitinfo(wanted)
    print(info.si_signo, "terminal" if info.si_code == 128 else "process", flush=True)
    if info.si_signo == signal.SIGTERM:
        sys.exit(0)
"""


def cleaners(directory):
    """The processes that hold the lock of a cleaner."""
    found = []
    for entry in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(entry) == os.path.join(directory, "cleaner"):
                found.append(int(entry.split("/")[2]))
        except OSError:
            pass
    return found


def kill_cleaner(directory):
    """Waits until it is dead."""
    for pid in cleaners(directory):
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not cleaners(directory), "the cleaner is dead")


class Waiting:
    """A program that waits until it is let go."""

    def __init__(self, *options):
        self.launcher = subprocess.Popen([SWHCA, "run", *options, "--", *WAITS], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         start_new_session=True)
        self.launcher.stdout.readline()

    def program(self):
        path = f"/proc/{self.launcher.pid}/task/{self.launcher.pid}/children"
        with open(path, encoding="ascii") as children:
            return int(children.read().split()[0])

    def let_go(self):
        self.launcher.communicate(timeout=LIMIT_S)
        return self.launcher.returncode


def cleaner_killed(checks):
    fabric = Fabric()
    one = Waiting("--dir", fabric.directory)
    kill_cleaner(fabric.directory)
    one.let_go()
    checks.that(fabric.close(), "a launcher leaves another cleaner when the first was killed")

    fabric = Fabric()
    one = Waiting("--dir", fabric.directory)
    kill_cleaner(fabric.directory)
    two = Waiting("--dir", fabric.directory)
    checks.that(len(cleaners(fabric.directory)) == 1, "and so does the next one")
    for each in (one, two):
        each.launcher.kill()
        each.let_go()
    checks.that(fabric.close(), "which outlives both launchers")


def all_killed(checks):
    fabric = Fabric()
    one = Waiting("--dir", fabric.directory, "--hca", "3")
    kill_cleaner(fabric.directory)
    end_all(one.launcher)
    checks.that(len(fabric.show()["hcas"]) == 3, "files are left where all are killed")
    two = Waiting("--dir", fabric.directory, "--hca", "2")
    checks.that(len(fabric.show()["hcas"]) == 2, "but the next user makes the fabric anew")
    two.let_go()
    checks.that(fabric.close(), "and it goes with that user")


def is_gone(path, limit_s):
    try:
        wait_for(lambda: not os.path.exists(path), f"{path} is removed", limit_s)
    except TimeoutError:
        return False
    return True


def removed_at_once(checks):
    """When the last launcher has returned, nothing is left, however it ended."""
    folder = tempfile.mkdtemp(prefix="ufx-swhca-test-")
    directory = os.path.join(folder, "fabric")
    command = [SWHCA, "run", "--dir", directory, "--", "true"]

    def with_limit(which, limit):
        return lambda: resource.setrlimit(which, (limit, limit))

    cases = [("by itself", command, None)]
    cases += [(f"with {n} descriptors", command, with_limit(resource.RLIMIT_NOFILE, n))
              for n in range(4, 12)]
    cases += [(f"with files of {n} bytes", command, with_limit(resource.RLIMIT_FSIZE, n))
              for n in (0, 10, 10240)]
    if os.geteuid() == 0:
        cases.append(("as the first of a pid namespace",
                      ["unshare", "--pid", "--fork", "--mount-proc", *command], None))
    for what, words, limit in cases:
        done = subprocess.run(words, preexec_fn=limit, capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        # A launcher that has no descriptor left for it leaves the removal to the cleaner.
        checks.that(done.returncode >= 0 and is_gone(directory, 0 if limit is None else 10),
                    f"a launcher that runs {what} leaves nothing", f"{done.returncode} {done.stderr}")
        shutil.rmtree(directory, ignore_errors=True)
    os.rmdir(folder)


def no_room(checks):
    """A file system that is full is an error that says what it takes, not a signal."""
    folder = tempfile.mkdtemp(prefix="ufx-swhca-test-")
    for size in ("512k", "1m", "2m", "2200k", "2400k", "16m"):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "ufx-test", folder],
                          capture_output=True, check=False).returncode != 0:
            checks.skip("a small file system", "mount is not allowed")
            break
        done = subprocess.run([SWHCA, "run", "--dir", os.path.join(folder, "fabric"), "--",
                               "ibv_devinfo"], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        refused = done.returncode > 0 and "cannot" in done.stderr
        well = refused if size == "512k" else done.returncode == 0 if size == "16m" else (
            refused or done.returncode == 0)
        checks.that(well and os.listdir(folder) == [], f"a file system of {size}",
                    f"{done.returncode} {done.stderr}")
        subprocess.run(["umount", "--lazy", folder], check=True)  # the cleaner may not have ended
    os.rmdir(folder)


def lock_is_closed(checks):
    """A program that has closed what it inherited keeps the fabric by its open device."""
    fabric = Fabric()
    script = ("import subprocess; p = subprocess.Popen(['stdbuf', '-oL', 'ibv_asyncwatch'], "
              "stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True); p.stdout.readline(); print(p.pid)")
    status, output = fabric.run(sys.executable, "-c", script)
    checks.that(status == 0 and fabric.show() is not None,
                "a program that has closed the lock keeps the fabric", output)
    os.kill(int(output.split()[0]), signal.SIGKILL)
    checks.that(fabric.close(), "which goes with it")


def own_directory_left(checks):
    def own(pid):
        with open(f"/proc/{pid}/environ", encoding="utf-8") as words:
            settings = dict(word.partition("=")[::2] for word in words.read().split("\0"))
        return settings["UFX_SWHCA_DIR"]

    one = Waiting()
    directory = own(one.program())
    kill_cleaner(directory)
    end_all(one.launcher)
    two = Waiting()
    checks.that(not os.path.exists(directory),
                "a directory that nobody has named is left until the next one is made")
    other = own(two.program())
    two.let_go()
    wait_for(lambda: not os.path.exists(other), "the own directory is removed", 10)


def terminal(checks):
    leader, follower = pty.openpty()
    launcher = subprocess.Popen([SWHCA, "run", "--", sys.executable, "-c", SIGNALS],
                                stdin=follower, stdout=subprocess.PIPE, text=True,
                                start_new_session=True,
                                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    launcher.stdout.readline()
    seen = []
    for _ in range(2):
        os.write(leader, b"\x03")
        seen.append(launcher.stdout.readline().strip())
    os.kill(launcher.pid, signal.SIGTERM)
    seen += launcher.communicate(timeout=LIMIT_S)[0].split("\n")
    checks.that(seen == ["2 terminal", "2 terminal", "15 process", ""] and launcher.returncode == 0,
                "each Ctrl-C reaches the program once, and what the launcher gets is passed on", str(seen))
    os.close(leader)
    os.close(follower)


def early_signal(checks):
    def be_hit():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        os.kill(os.getpid(), signal.SIGTERM)

    launcher = subprocess.Popen([SWHCA, "run", "--", sys.executable, "-c", SIGNALS], text=True,
                                stdout=subprocess.PIPE, start_new_session=True, preexec_fn=be_hit)
    try:
        output = launcher.communicate(timeout=LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        output = "nothing"
        end_all(launcher)
    checks.that("15 process" in output, "a signal that comes before the program is passed on", output)


def main():
    need("sh", "ibv_devinfo", "ibv_asyncwatch", "stdbuf", "unshare")
    checks = Checks()
    for part in (cleaner_killed, all_killed, removed_at_once, no_room, lock_is_closed,
                 own_directory_left, terminal, early_signal):
        part(checks)
    checks.end()


main()
