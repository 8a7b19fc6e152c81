#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The words that ufx_swhca takes and refuses, its exit statuses, and what it shows of rules."""

import json
import os
import re
import shutil
import stat
import subprocess
import tempfile

from swhca_run import LIMIT_S, SWHCA, Checks, Fabric, need

OUT_OF_RANGE = [
    ("lid 70000", "'70000'", "0 to 65535"),
    ("gid 999 fe80::1", "'999'", "0 to 15"),
    ("pkey 500 1", "'500'", "0 to 7"),
    ("error-cqe 300", "'300'", "1 to 255"),
    ("fail-reg-mr 99999", "'99999'", "1 to 133"),
    ("stall-cq 9999", "'9999'", "1 to 4096"),
    ("drop hca 9", "'9'", "0 to 7"),
    ("drop probability 1.5", "'1.5'", "0 to 1"),
]


def call(*words, **how):
    return subprocess.run([SWHCA, *words], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False, **how)


def refused(checks, words, status, *texts, **how):
    ended = call(*words, **how)
    lines = ended.stderr.splitlines()
    good = (ended.returncode == status and len(lines) == 1 and lines[0].startswith("ufx_swhca: ") and
            all(text in lines[0] for text in texts))
    named = re.sub(tempfile.gettempdir() + "/[^/ ]+", "DIR", " ".join(words))
    checks.that(good, f"ufx_swhca {named[:60]} is refused with {status} and one line",
                f"{ended.returncode} {ended.stderr}")


def static_program(folder):
    source = os.path.join(folder, "static.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("int main(void) { return 0; }\n")
    built = subprocess.run([*os.environ.get("CC", "gcc").split(), "-static", source, "-o",
                            os.path.join(folder, "static")], check=False, capture_output=True)
    return built.returncode == 0


def programs(checks, folder):
    refused(checks, ["run", "--", "no-such-program"], 127, "there is no program no-such-program")
    refused(checks, ["run", "--", "./no/such"], 127, "there is no program ./no/such")
    plain = os.path.join(folder, "plain")
    with open(plain, "w", encoding="ascii") as file:
        file.write("#!/no/such/interpreter\n")
    refused(checks, ["run", "--", plain], 126, "cannot be executed")
    refused(checks, ["run", "--", folder], 126, "cannot be executed")
    os.chmod(plain, 0o755)
    refused(checks, ["run", "--", plain], 127, "cannot start", "No such file")
    refused(checks, ["run", "--", "plain"], 127, "cannot start",
            env=dict(os.environ, PATH=folder + ":" + os.environ["PATH"]))
    if static_program(folder):
        refused(checks, ["run", "--", os.path.join(folder, "static")], 126, "statically linked")
    checks.that(call("run", "--", "sh", "-c", "exit 5").returncode == 5,
                "the exit status is the program's")
    checks.that(call("run", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9,
                "or tells of the signal that ended it")


def more_rights(checks, folder):
    """Programs into which the loader preloads nothing, started by somebody else."""
    nobody = 65534
    for name, text in (("setuid", "is setuid"), ("setgid", "is setgid"),
                       ("capable", "has file capabilities")):
        program = os.path.join(folder, name)
        shutil.copy(shutil.which("true"), program)
        if name == "capable":
            if shutil.which("setcap") is None or subprocess.run(
                    ["setcap", "cap_net_raw+ep", program], check=False).returncode != 0:
                continue
        else:
            os.chmod(program, 0o755 | (stat.S_ISUID if name == "setuid" else stat.S_ISGID))
        refused(checks, ["run", "--", program], 126, text, "nothing can be preloaded", user=nobody,
                group=nobody)


def shims(checks, folder):
    for shim in (os.path.join(folder, "none.so"), os.path.join(folder, "plain"), folder):
        refused(checks, ["run", "--", "true"], 3, "cannot preload",
                env=dict(os.environ, UFX_SWHCA_SHIM=shim))


def directories(checks, folder):
    for words in (["run", "--dir", "", "--", "true"], ["ctl", "--dir", "", "drop"],
                  ["show", "--dir", ""]):
        refused(checks, words, 2, "--dir")
    deep = os.path.join(folder, "a", "b")
    refused(checks, ["run", "--dir", deep, "--", "true"], 3, f"cannot make {deep}",
            "there is no " + os.path.dirname(deep))
    checks.that(not os.path.exists(os.path.dirname(deep)), "nothing is left of it")
    refused(checks, ["run", "--dir", os.path.join(folder, "plain"), "--", "true"], 3, "plain")
    refused(checks, ["show", "--dir", folder], 3, "there is no fabric in " + folder)
    refused(checks, ["ctl", "--dir", folder, "drop"], 3, "there is no fabric in " + folder)


def options(checks, folder):
    refused(checks, ["run", "--hca", "9", "--", "true"], 2, "--hca")
    refused(checks, ["run", "--rate", "fast", "--", "true"], 2, "--rate")
    refused(checks, ["run", "--faults", "/no/file", "--", "true"], 2, "cannot read /no/file")
    refused(checks, ["run", "--faults", folder, "--", "true"], 2, "cannot read " + folder)
    refused(checks, ["ctl", "--dir", folder, "--faults", folder], 2, "cannot read " + folder)
    refused(checks, ["ctl", "--dir", folder], 2, "needs a rule")
    refused(checks, ["steer"], 2)
    for word in ("-V", "--version"):
        shown = call(word)
        checks.that(shown.returncode == 0 and re.fullmatch(r"ufx_swhca \d+\.\d+\.\d+\n", shown.stdout),
                    f"{word} tells the version", shown.stdout)
    for command in ("run", "ctl"):
        shown = call(command, "--help")
        checks.that(shown.returncode == 0 and f"  ufx_swhca {command} " in shown.stdout,
                    f"{command} --help has examples", shown.stdout)
    shown = call("ctl", "--help").stdout
    checks.that(all(word in shown for word in ("ERRNO", "ENOMEM", "SYNDROME", "RETRY_EXC_ERR")),
                "ctl --help tells how errnos and syndromes are written", shown)


def rules(checks, folder):
    for rule, value, values in OUT_OF_RANGE:
        refused(checks, ["ctl", "--dir", folder, rule], 2, f"'{rule}': ", value, values)
    schedule = os.path.join(folder, "faults")
    for rule, value, values in OUT_OF_RANGE:
        with open(schedule, "w", encoding="ascii") as file:
            file.write(f"# a comment\n\n{rule}\n")
        refused(checks, ["run", "--faults", schedule, "--", "true"], 2, schedule + ":3: ", value,
                values)
    with open(schedule, "w", encoding="ascii") as file:
        file.write("drop count 1\ndrop hca mlx5_1\n")
    refused(checks, ["run", "--faults", schedule, "--", "true"], 2,
            schedule + ":2: there is no device mlx5_1")


def living_fabric(checks, folder):
    fabric = Fabric("--hca", "2")
    keeper = fabric.start("stdbuf", "-oL", "ibv_asyncwatch")
    keeper.stdout.readline()  # it has opened the device
    at = ["ctl", "--dir", fabric.directory]
    refused(checks, [*at, "drop", "stall-cq 4000"], 2, "'stall-cq 4000': there is no CQ 4000 now")
    refused(checks, [*at, "qp-error qpn 5"], 2, "there is no QP 5 now")
    refused(checks, [*at, "drop hca 2"], 2, "there is no device mlx5_2", "mlx5_0 to mlx5_1")
    refused(checks, [*at, *["drop"] * 129], 3, "room for 128 rules")
    checks.that(fabric.show()["rules"] == [], "what is refused leaves no rule behind")
    spoken = call(*at, "-", input="drop count 1\nnonsense\nclear\ndrop count 2\n")
    answers = spoken.stdout.splitlines()
    checks.that(spoken.returncode == 0 and len(answers) == 4 and
                answers[1].startswith("error: 'nonsense': ") and {answers[0], *answers[2:]} == {"ok"},
                "ctl - answers each line", spoken.stdout + spoken.stderr)
    checks.that([one["text"] for one in fabric.show()["rules"]][0].endswith("drop count 2") and
                len(fabric.show()["rules"]) == 1, "and what it took is in effect")
    call(*at, "clear")
    given = "hca mlx5_1 qpn 72 drop requests skip 1 count 2 probability 0.25"
    late = "fail-modify-qp EIO to ERR"
    added = call(*at, given, late, "at 1m stall-cq 4000", "until 1m drop responses")
    checks.that(added.returncode == 0, "ctl takes names, and what may come later", added.stderr)
    told = call("show", "--dir", fabric.directory).stdout
    checks.that(re.search(rf"rule 'at \S+ {given}'  seen 0, hits 0\n", told) and
                re.search(rf"rule 'at \S+ {late}'", told) and
                re.search(r"rule 'at \S+ until \S+ drop responses'", told) and
                re.search(r"^fabric \S+, \d+ms old", told), "show tells the conditions of rules", told)
    shown = json.loads(call("show", "--dir", fabric.directory, "--json").stdout)
    rule = shown["rules"][0]
    wanted = {"action": "drop", "hca": 1, "qpn": 72, "target": "requests", "skip": 1, "count": 2}
    checks.that(all(rule[key] == value for key, value in wanted.items()) and
                abs(rule["probability"] - 0.25) < 1e-6 and rule["at_ns"] <= shown["age_ns"] and
                shown["rules"][1]["to"] == "ERR", "and so as JSON", json.dumps(rule))
    keeper.terminate()
    keeper.communicate(timeout=LIMIT_S)
    checks.that(fabric.close(), "nothing is left of the fabric")


def main():
    need("ibv_asyncwatch")
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for part in (programs, shims, directories, options, rules, living_fabric):
            part(checks, folder)
        if os.geteuid() == 0 and subprocess.run([SWHCA, "-V"], user=65534, check=False,
                                                capture_output=True).returncode == 0:
            more_rights(checks, folder)
    checks.end()


main()
