#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Demand that each wrong version of the RDMA transports is killed by its test on the software HCA.

    ib_mutants.py [MUTANT ...]

Each is one line of src/uct/ib that is replaced (ib_mutants.tsv), compiled as a module of its own.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../swhca"))
from swhca_run import BUILD, TOP, Checks, Fabric, need  # noqa: E402

WORK = os.path.join(BUILD, "ib_mutants")
LIBRARIES = os.path.join(WORK, "libs")
SOURCES = os.path.join(WORK, "src/uct/ib")


def read_table():
    with open(os.path.join(TOP, "test/mutants/ib_mutants.tsv"), encoding="utf-8") as table:
        lines = [line.rstrip("\n").split("\t") for line in table if line[:1] not in ("#", "\n")]
    return {name: [field.replace("\\n", "\n") for field in fields] for name, *fields in lines}


def build(file="", old="", new=""):
    """The module with that line replaced; without one, as it is."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.copytree(os.path.join(TOP, "src/uct/ib"), SOURCES)  # times stay: make sees what changed
    if file:
        name = os.path.join(SOURCES, file)
        with open(name, encoding="utf-8") as source:
            text = source.read()
        if text.count(old) != 1:
            return f"{file} has {text.count(old)} times: {old}"
        with open(name, "w", encoding="utf-8") as source:
            source.write(text.replace(old, new))
    for folder, _, files in os.walk(os.path.join(BUILD, "unity")):
        for each in files:  # a file that was replaced before may be older now
            if each.startswith("libufx_uct_ib_mutant"):
                os.remove(os.path.join(folder, each))
    made = subprocess.run(["make", "-s", "libufx_uct_ib_mutant.la", f"UFX_IB_MUTANT={WORK}/src"],
                          cwd=BUILD, text=True, capture_output=True, check=False)
    if made.returncode != 0:
        return made.stderr[-3000:]
    shutil.copy(os.path.join(BUILD, ".libs/libufx_uct_ib_mutant.so"),
                os.path.join(LIBRARIES, "libufx_uct_ib.so.0"))
    return ""


def run(case):
    fabric = Fabric("--hca", "4")
    try:
        status, output = fabric.run("env", f"LD_LIBRARY_PATH={LIBRARIES}",
                                    os.path.join(BUILD, ".libs/test_ib"), case)
    except subprocess.TimeoutExpired:
        status, output = None, "no end"
    fabric.close()
    return status, output


def main(names):
    need()
    checks = Checks()
    os.makedirs(LIBRARIES, exist_ok=True)
    for name in ("libufx_ucs.so.0", "libufx_uct.so.0"):
        shutil.copy(os.path.join(BUILD, ".libs", name), LIBRARIES)
    table = read_table()
    table = {name: table[name] for name in names or table}
    wrong = build()
    checks.that(not wrong, "the module is built apart", wrong)
    for case in dict.fromkeys(fields[-1] for fields in table.values()):
        status, output = run(case)
        checks.that(status == 0 and "All tests passed" in output, f"without a mutant: {case}",
                    output[-4000:])
    for name, (what, _, file, old, new, case) in table.items():
        wrong = build(file, old, new)
        if wrong:
            checks.that(False, f"{name} is built", wrong)
            continue
        status, output = run(case)
        checks.that(status not in (0, 77), f"{name} dies ({what}): {case}", output[-2000:])
    checks.end()


if __name__ == "__main__":
    main(sys.argv[1:])
