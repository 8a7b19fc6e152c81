#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Judge a run of `ufx_perftest failover` from its files alone.

    judge_failover.py INPUT OUTPUT LOG REPORT

INPUT is what was sent, OUTPUT what was written (it may be missing), LOG is of --log and REPORT of
--json. Everything is computed again from INPUT and LOG: this script shares no code with the tool.
It prints one line a finding and what it counted, and ends with status 0 only if each chunk that
the sender says it sent arrived exactly once, whole, in order, and OUTPUT is INPUT; only if the
report says the same; and, if faults were scheduled, only if by the report's numbers each was noticed
and traffic went over to another rail. Status 4: the data are right, but the faults hit nothing.
"""

import hashlib
import json
import os
import sys
import zlib

KINDS = ("am", "put", "list")
STATUS_MISSED = 4  # as of the tool
ORDERED = ("am", "put")  # a list is announced by a notification, which has no number


class Judge:
    def __init__(self, data, chunk):
        self.data = data
        self.chunk = chunk
        self.chunks_a_pass = (len(data) + chunk - 1) // chunk
        self.checksums = {}
        self.seen = set()
        self.counts = dict(duplicated=0, corrupted=0, misordered=0)
        self.next_order = 0
        self.findings = []

    def find(self, what):
        if len(self.findings) < 20:
            self.findings.append(what)

    def expected(self, seq):
        """Offset, length and checksum of a chunk, from the input alone."""
        offset = seq % self.chunks_a_pass * self.chunk
        length = min(self.chunk, len(self.data) - offset)
        if offset not in self.checksums:
            self.checksums[offset] = zlib.crc32(self.data[offset : offset + length])
        return offset, length, self.checksums[offset]

    def line(self, number, words):
        seq, kind, offset, length, crc, order = words
        seq, offset, length, order = int(seq), int(offset), int(length), int(order)
        if kind not in KINDS:
            raise ValueError(f"line {number}: kind {kind}")
        if (offset, length, int(crc, 16)) != self.expected(seq):
            self.counts["corrupted"] += 1
            self.find(f"line {number}: chunk {seq} is not what was sent")
        if seq in self.seen:
            self.counts["duplicated"] += 1
            self.find(f"line {number}: chunk {seq} arrived again")
        self.seen.add(seq)
        if kind in ORDERED:
            if order != self.next_order:
                self.counts["misordered"] += 1
                self.find(f"line {number}: message {order} where {self.next_order} is due")
            self.next_order = order + 1

    def lost(self, sent):
        missing = sorted(set(range(sent)) - self.seen)
        for seq in missing[:5]:
            self.find(f"chunk {seq} never arrived")
        for seq in sorted(s for s in self.seen if s >= sent)[:5]:
            self.find(f"chunk {seq} arrived and was never sent")
            self.counts["corrupted"] += 1
        return len(missing)


def read_log(path, judge_of):
    with open(path, encoding="ascii") as log:
        head = log.readline().split()
        if head[:3] != ["#", "ufx-failover-log", "1"] or len(head) != 5:
            raise ValueError("this is no log of version 1")
        judge = judge_of(int(head[3]), int(head[4]))
        for number, text in enumerate(log, 2):
            judge.line(number, text.split())
    return judge


def misses(report):
    """Why nobody can say that the scheduled faults were survived."""
    if not report["faults_scheduled"]:
        return []
    late = [] if report["faults_applied"] == report["faults_scheduled"] else ["a fault came too late"]
    unnoticed = [f"the fault of rail {one['rail']} at {one['begin_s']:.3f} s was not noticed"
                 for one in report["outages"] if one["noticed_us"] is None]
    still = [] if report["switches"] else ["no traffic went over to another rail"]
    return [*late, *unnoticed, *still]


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    source, target, log, report_path = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    with open(report_path, encoding="utf-8") as file:
        report = json.load(file)

    def judge_of(size, chunk):
        if size != len(data) or chunk < 1:
            raise ValueError(f"the log is of a file of {size} bytes, the input has {len(data)}")
        return Judge(data, chunk)

    try:
        judge = read_log(log, judge_of)
    except ValueError as error:
        sys.exit(f"{log}: {error}")
    counts = dict(lost=judge.lost(report["chunks"]), **judge.counts)
    good = not any(counts.values())
    for name, count in counts.items():
        if report[name] != count:
            judge.find(f"the report says {name} {report[name]}")
            good = False
    same = os.path.exists(target) and sha256(source) == sha256(target)
    if not same:
        judge.find("the output is missing or is not the input")
        good = False
    for finding in judge.findings:
        print(finding)
    print(json.dumps(dict(counts, chunks=len(judge.seen), file_same=same)))
    missed = misses(report)
    for finding in missed:
        print(finding)
    words = "every chunk exactly once, the file is the same" if good else "NOT RIGHT"
    print(f"judged: {words}" + (", but THE FAULTS HIT NOTHING" if good and missed else ""))
    sys.exit(1 if not good else STATUS_MISSED if missed else 0)


main()
