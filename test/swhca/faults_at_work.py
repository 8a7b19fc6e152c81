#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults under a program that nobody here wrote: a link that is lost and one that comes back, events,
schedules, and processes that are killed."""

import os
import signal
import subprocess
import tempfile
import threading

from swhca_run import (LIMIT_S, SWHCA, Checks, Fabric, end_all, free_port, listens, need,
                       wait_for)

FOR_EVER = "5000000"


PING_PONG = ["ibv_rc_pingpong", "-g", "1", "-n", FOR_EVER]
WRITES = ["ib_write_bw", "-F", "-n", FOR_EVER]  # always with requests under way


class Traffic:
    """Two processes whose traffic runs when this returns."""

    def __init__(self, fabric, command):
        self.fabric = fabric
        command = [*command, "-p", free_port()]
        self.server = fabric.start(*command)
        wait_for(lambda: listens(command[-1]), "the server listens")
        self.client = fabric.start(*command, "127.0.0.1")
        wait_for(lambda: self.sent() > 20, "traffic runs")

    def sent(self):
        shown = self.fabric.show()
        return 0 if shown is None else shown["hcas"][0]["counters"]["sent"]

    def programs(self):
        """The programs' pids; a launcher has one child."""
        pids = []
        for each in (self.server, self.client):
            with open(f"/proc/{each.pid}/task/{each.pid}/children", encoding="ascii") as children:
                pids.append(int(children.read().split()[0]))
        return pids

    def end(self):
        for each in (self.server, self.client):
            if each.poll() is None:
                each.terminate()
        return [each.communicate(timeout=LIMIT_S)[0] for each in (self.client, self.server)]


def lost_link(checks):
    fabric = Fabric()
    traffic = Traffic(fabric, PING_PONG)
    checks.that(fabric.ctl("port-down").returncode == 0, "ctl takes the port down")
    both = (traffic.client, traffic.server)
    wait_for(lambda: any(each.poll() is not None for each in both), "one side fails")
    # The other may have had nothing under way, and would wait for ever, as with any hardware.
    outputs = traffic.end()
    checks.that("transport retry counter exceeded" in "".join(outputs),
                "a ping-pong that loses its link fails by the retry counter", "".join(outputs))
    checks.that(fabric.close(), "nothing is left of the fabric after a lost link")


def link_comes_back(checks):
    fabric = Fabric()
    traffic = Traffic(fabric, PING_PONG)
    # 7 retries of 67 ms: the default of ibv_rc_pingpong.
    checks.that(fabric.ctl("port-down", "at 100ms port-up").returncode == 0,
                "ctl takes the port down for 100 ms")
    wait_for(lambda: fabric.show()["hcas"][0]["port"]["state"] == "ACTIVE", "the port is up")
    before = traffic.sent()
    wait_for(lambda: traffic.sent() > before + 20, "traffic goes on")
    shown = fabric.show()["hcas"][0]
    checks.that(shown["counters"]["timeouts"] > 0 and shown["counters"]["dropped"] > 0,
                "packets were lost and sent again", str(shown["counters"]))
    checks.that(all(qp["state"] == "RTS" for qp in shown["qps"]), "both QPs are still in RTS")
    traffic.end()
    checks.that(fabric.close(), "nothing is left of the fabric after a link came back")


def events(checks):
    fabric = Fabric()
    watch = fabric.start("stdbuf", "-oL", "ibv_asyncwatch")
    watch.stdout.readline()  # it has opened the device
    fabric.ctl("event CLIENT_REREGISTER", "port-down", "at 1ms port-up")
    wanted = ["CLIENT_REREGISTER", "PORT_ERR", "PORT_ACTIVE"]
    seen = []
    watchdog = threading.Timer(LIMIT_S, watch.kill)
    watchdog.start()
    while len(seen) < len(wanted):
        line = watch.stdout.readline()
        if not line:
            break
        seen.append(line)
    watchdog.cancel()
    checks.that(len(seen) == len(wanted) and all(a in b for a, b in zip(wanted, seen)),
                "ibv_asyncwatch sees an injected event and those of a port", "".join(seen))
    watch.terminate()
    watch.communicate(timeout=LIMIT_S)
    checks.that(fabric.close(), "nothing is left of the fabric after events")


def host_dies(checks):
    fabric = Fabric("--hca", "2")
    port = free_port()
    server = fabric.start(*WRITES, "-d", "mlx5_1", "-p", port)
    wait_for(lambda: listens(port), "the server listens")
    client = fabric.start(*WRITES, "-d", "mlx5_0", "-p", port, "127.0.0.1")
    wait_for(lambda: fabric.show()["hcas"][0]["counters"]["sent"] > 20, "traffic runs")
    fabric.ctl("host-death hca mlx5_1")
    server.communicate(timeout=LIMIT_S)
    checks.that(server.returncode == 128 + 9, "a host that dies takes its program with it")
    output = client.communicate(timeout=LIMIT_S)[0]
    checks.that("Failed status 12" in output, "and its peer fails by the retry counter", output)
    checks.that(fabric.close(), "nothing is left of the fabric after a host died")


def device_dies(checks):
    fabric = Fabric("--hca", "2")
    traffic = Traffic(fabric, WRITES)
    fabric.ctl("device-fatal hca mlx5_0")
    status, output = fabric.run("ibv_devinfo", "-d", "mlx5_0")
    checks.that(status != 0, "a dead device cannot be opened", output)
    status, output = fabric.run("ibv_devinfo", "-d", "mlx5_1")
    checks.that(status == 0, "the other one can", output)
    before = traffic.sent()
    checks.that(all(each.poll() is None for each in (traffic.client, traffic.server)) and
                traffic.sent() == before, "no completion ends the traffic of the dead one")
    traffic.end()
    checks.that(fabric.close(), "nothing is left of the fabric after a device died")


def gid_changes(checks):
    fabric = Fabric()
    watch = fabric.start("stdbuf", "-oL", "ibv_asyncwatch")
    watch.stdout.readline()  # it has opened the device
    fabric.ctl("gid 3 10.77.0.99 silent", "gid 4 fe80::77")
    watchdog = threading.Timer(LIMIT_S, watch.kill)
    watchdog.start()
    line = watch.stdout.readline()
    watchdog.cancel()
    checks.that("GID" in line, "ibv_asyncwatch sees that a GID was added", line)
    gids = fabric.show()["hcas"][0]["port"]["gids"]
    checks.that(any("0a4d:0063" in gid for gid in map(str, gids)), "show tells of it", str(gids))
    watch.terminate()
    rest = watch.communicate(timeout=LIMIT_S)[0]
    checks.that("GID" not in rest, "but not what was silent", rest)
    checks.that(fabric.close(), "nothing is left of the fabric after a GID changed")


def schedule(checks):
    with tempfile.NamedTemporaryFile("w", suffix=".faults") as file:
        file.write("# every tenth request is lost\ndrop requests probability 0.1\n")
        file.flush()
        fabric = Fabric("--faults", file.name, "--seed", "7")
        statuses, outputs = fabric.pair(["ib_write_bw", "-F", "-n", "50", "-s", "20000"], "-p")
        checks.that(statuses == [0, 0], "ib_write_bw survives a schedule of losses",
                    "\n".join(outputs))
        checks.that(fabric.close(), "nothing is left of the fabric after a schedule")


def killed(checks):
    fabric = Fabric()
    traffic = Traffic(fabric, WRITES)
    os.kill(traffic.programs()[0], signal.SIGKILL)
    output = traffic.client.communicate(timeout=LIMIT_S)[0]
    checks.that(traffic.client.returncode != 0 and "Failed status 12" in output,
                "the peer of a killed program fails by the retry counter", output)
    traffic.server.communicate(timeout=LIMIT_S)
    checks.that(traffic.server.returncode == 128 + 9, "the launcher tells of the signal")
    checks.that(fabric.close(), "nothing is left of the fabric after a kill")


def state_of(pid):
    """The letter of proc(5); empty if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as line:
            return line.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def stops_again(pid):
    """Who waited for it let it go on to the end of its pass, and stops it then."""
    try:
        wait_for(lambda: state_of(pid) == "T", "the program is stopped again", 10)
    except TimeoutError:
        return False
    return True


def stopped(checks):
    """By intent at any moment, so often in the middle of a pass, where it holds the fabric's lock."""
    fabric = Fabric()
    traffic = Traffic(fabric, PING_PONG)
    program = traffic.programs()[0]
    for _ in range(8):
        os.kill(program, signal.SIGSTOP)
        wait_for(lambda: state_of(program) == "T", "the program is stopped")
        shown = fabric.show()
        still = stops_again(program)
        os.kill(program, signal.SIGCONT)
        if shown is None or not still:
            break
        before = traffic.sent()
        wait_for(lambda: traffic.sent() > before + 20, "traffic goes on")
    checks.that(shown is not None and still, "nobody waits for a process that is stopped, which stays so")
    traffic.end()
    checks.that(fabric.close(), "nothing is left of the fabric of a stopped process")


def other_user(checks):
    """Root may touch the memory of anybody, but not the other way round."""
    nobody = 65534
    folder = tempfile.mkdtemp(prefix="ufx-swhca-test-")
    os.chmod(folder, 0o777)
    directory = os.path.join(folder, "fabric")
    command = [SWHCA, "run", "--dir", directory, "--", "ibv_rc_pingpong", "-g", "1", "-n", "200", "-e",
               "-p", free_port()]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True,
           "start_new_session": True}
    server = client = None
    try:
        server = subprocess.Popen(command, user=nobody, group=nobody, **how)
        wait_for(lambda: listens(command[-1]), "the server listens")
        client = subprocess.Popen([*command, "127.0.0.1"], **how)
        outputs = [each.communicate(timeout=LIMIT_S)[0] for each in (client, server)]
    finally:
        end_all(client)
        end_all(server)
    checks.that([client.returncode, server.returncode] == [0, 0],
                "programs of two users talk, though one may not touch the other's memory",
                "\n".join(outputs))
    checks.that(outputs[1].count("ptrace_scope") == 1 and "ptrace_scope" not in outputs[0],
                "and that one says so in one line", "\n".join(outputs))
    wait_for(lambda: os.listdir(folder) == [], "the fabric is removed", 10)
    os.rmdir(folder)


def launchers_killed(checks):
    fabric = Fabric()
    traffic = Traffic(fabric, PING_PONG)
    programs = traffic.programs()
    for each in (traffic.server, traffic.client):
        each.kill()
    before = traffic.sent()
    wait_for(lambda: traffic.sent() > before, "programs go on when their launchers are killed")
    for pid in programs:
        os.kill(pid, signal.SIGKILL)
    checks.that(fabric.close(), "nothing is left when all are killed")
    traffic.end()


def main():
    need("ibv_rc_pingpong", "ibv_asyncwatch", "ib_write_bw")
    checks = Checks()
    for part in (events, lost_link, link_comes_back, schedule,
                 host_dies, device_dies, gid_changes, killed, launchers_killed, stopped):
        try:
            part(checks)
        except (TimeoutError, subprocess.TimeoutExpired) as late:
            checks.that(False, f"{part.__name__} waited too long: {late}")
    if os.geteuid() == 0 and subprocess.run([SWHCA, "-V"], user=65534, check=False,
                                            capture_output=True).returncode == 0:
        other_user(checks)
    checks.end()


main()
