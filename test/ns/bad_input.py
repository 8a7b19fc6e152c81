#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bad input of every kind ends the tools by one clear message that names the cause, with a status
that is not 0, in time, and leaves nothing half written."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

from failover_run import BUILD, INFO, PERFTEST, Checks, free_port

SWHCA = os.path.join(BUILD, "ufx_swhca")
LIMIT_S = 60
SOON_S = 20  # what is found out at the handshake, on a loaded machine
USAGE, RUN = 2, 3


def frame(magic=b"UFXT", version=2, kind=1, body=b"", length=None):
    length = len(body) if length is None else length
    return magic + struct.pack("<HHII", version, kind, length, 0) + body


HOSTILE = {
    "of another version": (frame(version=7), "of another version"),
    "http": (b"HTTP/1.1 200 OK\r\n\r\n", "does not speak the protocol"),
    "truncated header": (frame()[:9], "middle of a message"),
    "truncated body": (frame(body=b"a=1\n")[:-2], "middle of a message"),
    "huge length": (frame(length=1 << 31), "malformed message header"),
    "garbage body": (frame(kind=2, body=b"\xff\x00\xfe"), "does not parse"),
    "wrong kind": (frame(kind=5), "is due"),
    "no fields": (frame(kind=2), "without"),
    "bad hex": (frame(kind=2, body=b"landing=1\naddress=zz\nkey=00\n"), "hexadecimal"),
    "bad address": (frame(kind=2, body=b"landing=1\naddress=00ff00ff\nkey=00\n"), ""),
    "refusal": (frame(kind=7, body=b"text=go away\n"), "go away"),
    "nothing": (b"", "closed its connection"),
}


class Table:
    def __init__(self):
        self.checks = Checks()
        self.folder = tempfile.mkdtemp(prefix="ufx-bad-input-")
        self.cases = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def judge(self, name, ended, status, text):
        self.cases += 1
        lines = [line for line in ended.stderr.splitlines() if line.startswith("ufx_")]
        told = any(text in line for line in ended.stderr.splitlines())
        self.checks.that(
            ended.returncode == status and told and len(lines) == 1,
            f"{name}: status {ended.returncode}, {ended.stderr.strip()[:200]!r}")

    def case(self, name, command, status, text, limit=LIMIT_S):
        """One command; files of before must be all that is left."""
        before = sorted(os.listdir(self.folder))
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit,
                               cwd=self.folder, errors="replace", check=False)
        self.judge(name, ended, status, text)
        after = sorted(os.listdir(self.folder))
        self.checks.that(before == after, f"{name}: leaves nothing")


def serve(listener, reply):
    """A peer that answers anything with these bytes, and closes."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(10)
        connection.recv(65536)
        connection.sendall(reply)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


def hostile_servers(table, good):
    for name, (reply, text) in HOSTILE.items():
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = str(listener.getsockname()[1])
            thread = threading.Thread(target=serve, args=(listener, reply))
            thread.start()
            table.case(f"server: {name}",
                       [PERFTEST, "failover", "--input", good, "-d", "lo:127.0.0.1", "-p", port,
                        "127.0.0.1"], RUN, text)
            thread.join()


def until_end(client):
    """Until the other end has closed, be it by a reset."""
    try:
        while client.recv(65536):
            pass
    except ConnectionResetError:
        pass


def waiting_server(table, *words):
    server = subprocess.Popen([PERFTEST, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, cwd=table.folder)
    server.stdout.readline()
    return server


def hostile_clients(table, good):
    """A server tells of each, once, and waits on; a silent one keeps no client waiting."""
    for name, server_words, client_words in (
            ("failover", ["failover", "--output", "out", "-d", "lo:127.0.0.1,lo:127.0.0.2"],
             ["failover", "--input", good, "-d", "lo:127.0.0.1,lo:127.0.0.2", "--seconds", "0.3"]),
            ("measurement", ["-d", "lo"], ["-t", "am_lat", "-d", "lo", "-n", "10", "-w", "1"])):
        port = free_port()
        server = waiting_server(table, *server_words, "-p", str(port))
        told = []
        for case, (bytes_sent, text) in HOSTILE.items():
            if case in ("bad hex", "bad address", "garbage body"):
                continue  # these are of a server
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(bytes_sent)
                client.shutdown(socket.SHUT_WR)
                until_end(client)
            told.append(f"{case}: {text}")
        with socket.create_connection(("127.0.0.1", port)):
            ended = subprocess.run([PERFTEST, *client_words, "-p", str(port), "127.0.0.1"],
                                   capture_output=True, text=True, timeout=LIMIT_S,
                                   cwd=table.folder, check=False)
            _, errors = server.communicate(timeout=LIMIT_S)
        lines = [line for line in errors.splitlines() if "closed a connection from" in line]
        table.checks.that(len(lines) == len(told) and len(lines) == len(errors.splitlines()),
                          f"{name} server: one line for each of {told}: {errors}")
        table.checks.that((ended.returncode, server.returncode) == (0, 0),
                          f"{name} server: a true client is served: {ended.stderr}{errors}")
        if name == "failover":
            os.unlink(table.path("out"))


def client_of_another_test(table, good):
    """It is told which command to run where; the server waits on."""
    for name, server_words, client_words, text in (
            ("file for a server of measurements", [], ["failover", "--input", good],
             "run `ufx_perftest failover --output FILE -p "),
            ("measurement of a receiver", ["failover", "--output", "out"], ["-t", "am_lat"],
             "run `ufx_perftest -p ")):
        port = str(free_port())
        server = waiting_server(table, *server_words, "-p", port)
        table.case(f"client, {name}", [PERFTEST, *client_words, "-d", "lo", "-p", port,
                                       "127.0.0.1"], RUN, text, SOON_S)
        table.checks.that(server.poll() is None, f"{name}: the server waits on")
        server.terminate()
        _, errors = server.communicate(timeout=SOON_S)
        table.checks.that(text in errors and f"on {socket.gethostname()}" in errors,
                          f"{name}: the server says the same: {errors}")


def lost_output(table):
    """What could not be printed is an error; nothing else is written in its place."""
    commands = [[INFO, "-d"], [INFO, "-c"], [INFO, "-C", "--dev", "lo"], [INFO, "-V"],
                [INFO, "--help"], [PERFTEST, "--help"], [PERFTEST, "-t", "list"],
                [PERFTEST, "-l", "-t", "am_lat", "-n", "10"],
                [PERFTEST, "-l", "-t", "am_lat", "-n", "10", "--json", "-"],
                [PERFTEST, "failover", "--help"]]
    if os.path.exists(SWHCA):
        commands += [[SWHCA, "--help"], [SWHCA, "run", "--help"], [SWHCA, "--version"]]
    for command in commands:
        for how in (">/dev/full", ">&-"):
            ended = subprocess.run(
                ["/bin/sh", "-c", f'exec "$@" {how}', "sh", *command], text=True,
                stderr=subprocess.PIPE, timeout=LIMIT_S, check=False, cwd=table.folder)
            table.judge(f"{' '.join(command[-3:])} {how}", ended, RUN, "cannot write to stdout")


def options_of_failover(table, good):
    """Each names one thing that is wrong in an otherwise good run."""
    out, nowhere, folder = table.path("out"), table.path("none/file"), table.path("folder")
    os.symlink(good, table.path("alias"))
    for name, words, text in (
            ("no time", ["--seconds", "0"], "--seconds"),
            ("negative time", ["--seconds", "-1"], "--seconds"),
            ("endless time", ["--seconds", "inf"], "--seconds"),
            ("time is no number", ["--seconds", "abc"],
             "--seconds: 'abc' is no number of seconds above 0, at most 86400 (write 5 or 2.5)"),
            ("time with a unit", ["--seconds", "5s"], "'5s'"),
            ("rate", ["--rate", "bogus"], "--rate: 'bogus' is no rate (write"),
            ("rate of bytes", ["--rate", "1g"], "'1g'"),
            ("report without a name", ["--json", ""], "--json: is empty"),
            ("report twice", ["--json", "a", "--json", "b"], "--json: is given more than once"),
            ("rails of namespaces", ["--netns", "yes", "-d", "lo"], "rail0 and rail1"),
            ("port of nobody", ["-p", "1234"], "both sides are here"),
            ("schedule is a word", ["--fault", "nonsense"], "'nonsense'"),
            ("schedule without a rail", ["--fault", "1s:down"], "'1s:down'"),
            ("schedule without a unit", ["--fault", "1:down:rail1"], "is no time"),
            ("schedule after the end", ["--fault", "9s:down:rail1", "--seconds", "5"],
             "the last fault is at 9 s, the run ends after 5 s"),
            ("report nowhere", ["--json", nowhere], "No such file"),
            ("report is a folder", ["--json", folder], "not a regular file"),
            ("plot nowhere", ["--plot", table.path("none/plot.svg")], "No such file"),
            ("plot of another kind", ["--plot", table.path("plot.gif")], ".png or .svg"),
            ("log nowhere", ["--log", nowhere], "No such file"),
            ("output is the input", ["--output", good], "is the file of --input"),
            ("output is a link to the input", ["--output", table.path("alias")], "--input"),
            ("report is the output", ["--json", out], "is the file of --output"),
            ("port", ["-p", "0"], "-p"),
            ("port too large", ["-p", "70000"], "70000"),
            ("tiny chunks", ["--chunk", "1"], "--chunk"),
            ("chunk is no size", ["--chunk", "1 mile"], "'1 mile'"),
            ("too much in flight", ["--chunk", "64M"], "--outstanding"),
            ("nothing in flight", ["--outstanding", "0"], "--outstanding"),
            ("mix", ["--mix", "put,pigeon"], "'pigeon'"),
            ("tampering", ["--break", "everything"], "'everything'"),
            ("namespaces", ["--netns", "a/b"], "--netns")):
        command = [PERFTEST, "failover", "--input", good]
        for usual in (["--netns", "no"], ["--output", out]):
            command += [] if usual[0] in words else usual
        table.case(f"failover, {name}", command + words, USAGE, text)
    os.unlink(table.path("alias"))


def options_of_measurements(table):
    for name, words, text in (
            ("no iterations", ["-n", "0"], "-n"),
            ("nothing in flight", ["-O", "0"], "-O"),
            ("port", ["-p", "0"], "-p"),
            ("no threads", ["-T", "0"], "-T"),
            ("threads of uct", ["-T", "2"], "-T"),
            ("too long for short", ["-D", "short", "-s", "64M"], "takes at most"),
            ("report nowhere", ["--json", table.path("none/file")], "No such file"),
            ("report is a folder", ["--json", table.path("folder")], "not a regular file")):
        table.case(f"measurement, {name}",
                   [PERFTEST, "-l", "-x", "self", "-t", "put_bw", *words], USAGE, text)
    for name, words, text in (
            ("window of a ping-pong", ["-t", "am_lat", "-O", "2"], "--outstanding"),
            ("transport of rails", ["-t", "ucp_put_bw", "-x", "tcp"], "--transport"),
            ("layout of rails", ["-t", "ucp_put_bw", "-D", "short"], "--layout")):
        table.case(name, [PERFTEST, "host", *words], USAGE, f"{text}: ")
    for words in (["-t", "am_lat"], ["-s", "64"], ["--validate"], ["--json", "-"], ["-f"]):
        table.case(f"server with {words[0]}", [PERFTEST, *words], USAGE, "is for the client")
    table.case("threads of a ping-pong", [PERFTEST, "host", "-t", "ucp_am_lat", "-T", "2"], USAGE,
               "-T")


def devices_of_one_end(table, good):
    """Whoever cannot use what it was given says so at once, without the other end."""
    for name, words, status, text in (
            ("device", ["-d", "nosuch0"], USAGE, "nosuch0"),
            ("no device", ["-d", ""], USAGE, "empty"),
            ("transport", ["-x", "pigeon"], USAGE, "'pigeon'"),
            ("device of a transport", ["-x", "tcp", "-d", "nosuch0"], USAGE, "'nosuch0'"),
            ("transport without a way out", ["-x", "self"], USAGE, "does not leave"),
            ("device of another kind", ["-d", "memory"], USAGE, "cannot be a rail"),
            ("address", ["-x", "tcp", "-d", "lo:192.0.2.99"], USAGE, "192.0.2.99"),
            ("failover, device", ["failover", "--output", table.path("out"), "-d", "nosuch0"],
             USAGE, "nosuch0")):
        table.case(f"server, {name}", [PERFTEST, *words, "-p", str(free_port())], status, text)
    client = [PERFTEST, "127.0.0.1", "-p", str(free_port()), "-t", "am_lat"]
    table.case("client, transport without a way out", [*client, "-x", "self"], USAGE,
               "does not leave")
    table.case("client, device", [*client, "-d", "nosuch0"], USAGE, "'nosuch0'")
    table.case("failover client, device", [PERFTEST, "failover", "--input", good, "-d", "nosuch0",
                                           "127.0.0.1"], USAGE, "nosuch0")
    table.case("loopback of two processes", [PERFTEST, "-l", "-t", "am_lat", "-x", "tcp"], USAGE,
               "two processes")


def ends_that_do_not_meet(table, good):
    """A server and a client on devices that cannot reach each other: both end at once by the same
    words."""
    network = [name for _, name in socket.if_nameindex() if has_address(name)]
    if not network:
        print("seen    no network device but loopback")
        return
    one, both = network[0], "lo:127.0.0.1,lo:127.0.0.2"
    output = ["--output", table.path("out")]
    for name, server_words, client_words, text in (
            ("device of uct", ["-d", one], ["-t", "am_lat", "-d", "lo"], f"device {one} of"),
            ("device of uct with -x", ["-x", "tcp", "-d", "lo"],
             ["-t", "put_bw", "-d", one], "device lo of"),
            ("rails", ["-d", one], ["-t", "ucp_put_bw", "-d", both], f"rails ({one})"),
            ("rails of failover", ["failover", *output, "-d", one],
             ["failover", "--input", good, "-d", both], f"rails ({one})"),
            ("one rail of failover", ["failover", *output, "-d", "lo"],
             ["failover", "--input", good, "-d", f"lo,{one}"], "all of the client's")):
        port = str(free_port())
        verb = server_words[:1] if server_words[0] == "failover" else []
        server = subprocess.Popen([PERFTEST, *verb, "-p", port, *server_words[len(verb):]],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  cwd=table.folder)
        server.stdout.readline()
        table.case(f"client, {name}", [PERFTEST, *client_words, "-p", port, "127.0.0.1"], RUN, text,
                   SOON_S)
        _, errors = server.communicate(timeout=SOON_S)
        ended = subprocess.CompletedProcess([], server.returncode, "", errors)
        table.judge(f"server, {name}", ended, RUN, text)


def has_address(interface):
    """An interface that is up, is not loopback and has an IPv4 address, as `ufx_info -d` lists."""
    listed = subprocess.run([INFO, "-d", "--json"], capture_output=True, text=True, check=False)
    return interface != "lo" and f'"{interface}"' in listed.stdout


def options_of_info(table):
    table.case("process is a word", [INFO, "--ep-dump", "me"], USAGE, "'me'")
    table.case("verb of a rail", [INFO, "--rail", "rail0", "stop", "1"], USAGE, "drain|resume")
    table.case("rail with a space", [INFO, "--rail", "rail 0", "drain", "1"], USAGE, "'rail 0'")
    for devices, text in (("nosuch0", "there is no device nosuch0"),
                          ("memory", "device memory cannot be a rail"),
                          ("lo:", "names no address"),
                          ("lo:192.0.2.99", "does not have the address 192.0.2.99"),
                          ("", "the list is empty"),
                          (",", "the list is empty"),
                          ("lo,lo", "device lo is named twice"),
                          ("lo,lo:127.0.0.1", "lo and lo:127.0.0.1 are one")):
        table.case(f"devices of a context, {devices}", [INFO, "-C", "--dev", devices], USAGE, text)
    for name, words, text in (("rails of a listing", ["-d", "--dev", "lo"], "--dev: is for -C"),
                              ("details of settings", ["-c", "-v"], "-v: is for -d"),
                              ("sockets of a listing", ["-d", "--socket-dir", "x"], "--ep-dump")):
        table.case(name, [INFO, *words], USAGE, text)
    table.case("no process", [INFO, "--ep-dump", "--socket-dir", table.path("folder")], RUN,
               "UFX_DEBUG_SOCKET")
    table.case("word without a dash", [INFO, "devices"], USAGE, "did you mean '--devices'?")
    table.case("verb misspelt", [INFO, "--rail", "rail0", "drian", "1"], USAGE, "'drain'?")
    table.case("JSON of two", [INFO, "-d", "-C", "--json"], USAGE, "--json")
    table.case("JSON of settings", [INFO, "-c", "--json"], USAGE, "--json")
    table.case("a word too many", [INFO, "-v", "nonsense"], USAGE, "'nonsense'")


def main():
    table = Table()
    good, empty = table.path("good"), table.path("empty")
    with open(good, "wb") as file:
        file.write(os.urandom(100000))
    open(empty, "wb").close()
    os.mkdir(table.path("folder"))
    run = [PERFTEST, "failover", "--netns", "no", "--input", good, "--output", table.path("out")]
    busy = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    busy_port = str(busy.getsockname()[1])

    table.case("unknown option", [PERFTEST, "--nonsense"], USAGE, "--nonsense")
    table.case("unknown failover option", [*run, "--nonsense"], USAGE, "--nonsense")
    table.case("unknown info option", [INFO, "--nonsense"], USAGE, "--nonsense")
    table.case("command misspelt", [PERFTEST, "failver"], USAGE, "'failover'?")
    table.case("option misspelt", [*run, "--falt", "1s:down:rail1"], USAGE, "'--fault'?")
    table.case("test misspelt", [PERFTEST, "localhost", "-t", "am_lta"], USAGE, "'am_lat'?")
    table.case("transport misspelt", [PERFTEST, "localhost", "-t", "am_lat", "-x", "tpc"], USAGE,
               "'tcp'?")
    table.case("fault misspelt", [*run, "--fault", "1s:dwon:rail1"], USAGE, "'down'?")
    table.case("failover of nothing", [PERFTEST, "failover"], USAGE, "say what to do")
    table.case("output of a sender", [PERFTEST, "failover", "--input", good, "--output",
                                      table.path("out"), "127.0.0.1"], USAGE,
               "--output: is for the receiver")
    table.case("log of a sender", [PERFTEST, "failover", "--input", good, "--log",
                                   table.path("log"), "127.0.0.1"], USAGE,
               "--log: is for the receiver")
    table.case("report of a receiver", [PERFTEST, "failover", "--output", table.path("out"),
                                        "--json", table.path("json")], USAGE,
               "--json: is for the sender")
    table.case("rate without namespaces", [*run, "--rate", "1gbit"], USAGE, "--rate")
    table.case("device of the environment", ["env", "UFX_NET_DEVICES=nosuch0", INFO, "-C"], USAGE,
               "nosuch0 of UFX_NET_DEVICES")
    table.case("nothing to show", [INFO], USAGE, "say what to show")
    table.case("unknown test", [PERFTEST, "localhost", "-t", "nonsense"], USAGE, "'nonsense'")
    table.case("size", [PERFTEST, "localhost", "-t", "am_lat", "-s", "huge"], USAGE, "'huge'")
    table.case("cpu", [PERFTEST, "-l", "-t", "am_lat", "-c", "100000"], USAGE, "CPU 100000")
    table.case("transport", [PERFTEST, "-l", "-t", "am_lat", "-x", "pigeon"], USAGE, "pigeon")
    table.case("missing input", [PERFTEST, "failover", "--input", table.path("none"), "--output",
                                 table.path("out")], USAGE, "No such file")
    table.case("input is a folder", [PERFTEST, "failover", "--input", table.path("folder"),
                                     "--output", table.path("out")], USAGE, "not a regular file")
    table.case("empty input", [PERFTEST, "failover", "--input", empty, "--output",
                               table.path("out")], USAGE, "is empty")
    table.case("output is a folder", [PERFTEST, "failover", "--input", good, "--output",
                                      table.path("folder")], USAGE, "not a regular file")
    table.case("output nowhere", [PERFTEST, "failover", "--input", good, "--output",
                                  table.path("none/out")], USAGE, "No such file")
    table.case("schedule", [*run, "--fault", "1s:explode:rail1"], USAGE, "'explode'")
    table.case("schedule's rail", [*run, "--fault", "1s:down:rail9"], USAGE, "rail9")
    table.case("schedule needs namespaces", [*run, "--fault", "1s:del:rail1"], USAGE,
               "needs network namespaces")
    table.case("plot without gnuplot", ["env", "PATH=/nonexistent", *run, "--plot",
                                        table.path("plot.svg")], RUN, "not installed")
    table.case("schedule of one rail", [*run, "-d", "lo", "--fault", "1s:down:rail0,2s:up:rail0"],
               USAGE, "only one rail")
    table.case("schedule that leaves no rail", [*run, "--fault", "1s:down:rail0,1s:down:rail1"],
               USAGE, "leaves no rail")
    table.case("schedule that breaks nothing", [*run, "--fault", "1s:up:rail1"], USAGE,
               "breaks no rail")
    table.case("device", [*run, "-d", "nosuch0"], USAGE, "nosuch0")
    table.case("port in use", [PERFTEST, "-p", busy_port], RUN, "in use")
    table.case("port in use, failover", [PERFTEST, "failover", "--output",
                                        table.path("out"), "-p", busy_port], RUN, "in use")
    busy.close()
    table.case("no server", [PERFTEST, "failover", "--input", good, "-p", busy_port, "127.0.0.1"],
               RUN, "refused")
    table.case("no such host", [PERFTEST, "failover", "--input", good, "no.such.host.invalid"],
               RUN, "no.such.host.invalid")
    table.case("no such process", [INFO, "--ep-dump", "999999999"], RUN, "999999999")
    table.case("rail without verb", [INFO, "--rail", "rail0"], USAGE, "drain|resume")
    if os.geteuid() != 0:
        os.chmod(empty, 0)
        table.case("unreadable input", [PERFTEST, "failover", "--input", empty, "--output",
                                        table.path("out")], USAGE, "Permission denied")
    options_of_failover(table, good)
    options_of_measurements(table)
    options_of_info(table)
    devices_of_one_end(table, good)
    ends_that_do_not_meet(table, good)
    hostile_servers(table, good)
    hostile_clients(table, good)
    client_of_another_test(table, good)
    lost_output(table)
    print(f"{table.cases} cases of bad input")
    shutil.rmtree(table.folder)
    table.checks.end()


main()
