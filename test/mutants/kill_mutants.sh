#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Demand that the explorer kills every mutant: kill_mutants.sh EXPLORER MUTANTS.TSV [TRACE_FOLDER]
# With a folder, each trace is kept there as MUTANT.trace, for test/gtest/core/traces.
set -eu

explorer=$1 table=$2 folder=${3:-}
limit=40
passed=0 failed=0
tab=$(printf '\t')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

while IFS=$tab read -r mutant _ rows scenario; do
    case $mutant in '' | '#'*) continue ;; esac
    trace=$work/$mutant.trace
    status=0
    "$explorer" --mutant "$mutant" --scenario "$scenario" --seed 1 --walks 20000 --states 0 \
        --out "$trace" >"$work/log" 2>&1 || status=$?
    steps=$(grep -c ' side=' "$trace" 2>/dev/null || true)
    if [ "$status" -ne 1 ] || [ ! -s "$trace" ]; then
        echo "ALIVE: $mutant (in $scenario, exit status $status)"
        tail -n 3 "$work/log"
        failed=$((failed + 1))
    elif [ "$steps" -gt "$limit" ]; then
        echo "TOO LONG: $mutant needs $steps steps"
        failed=$((failed + 1))
    else
        echo "killed: $mutant in $steps steps ($rows): $(sed -n 's/^# breaks: //p' "$trace")"
        passed=$((passed + 1))
        if [ -n "$folder" ]; then cp "$trace" "$folder/"; fi
    fi
done <"$table"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
