#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Demand that every mutant is killed: kill_mutants.sh MUTANTS.TSV [TRACE_FOLDER [MUTANT]]
# Run in the build folder. With a folder, each trace of the explorer is kept there as MUTANT.trace,
# for test/gtest/core/traces; with MUTANT, only that one is tried.
set -eu

table=$1 folder=${2:-} only=${3:-}
limit=40
passed=0 failed=0
tab=$(printf '\t')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

alive() {
    echo "ALIVE: $*"
    tail -n 3 "$work/log"
    failed=$((failed + 1))
}

explore() { # MUTANT ROWS SCENARIO
    trace=$work/trace
    status=0
    rm -f "$trace"
    UFX_MUTANT=$1 ./explore_mutants --scenario "$3" --seed 1 --walks 20000 --states 0 \
        --out "$trace" >"$work/log" 2>&1 || status=$?
    steps=$(grep -c ' side=' "$trace" 2>/dev/null || true)
    if [ "$status" -ne 1 ] || [ ! -s "$trace" ]; then
        alive "$1 in $3, exit status $status"
    elif [ "$steps" -gt "$limit" ]; then
        alive "$1 needs $steps steps in $3, more than $limit"
    else
        echo "killed: $1 in $steps steps ($2): $(sed -n 's/^# breaks: //p' "$trace")"
        passed=$((passed + 1))
        if [ -n "$folder" ]; then cp "$trace" "$folder/$1.trace"; fi
    fi
}

# A test case that fails with the mutant, and passes without.
run_test() { # MUTANT ROWS TEST
    if ! timeout 300 ./test_ucp_mutants "$3" >"$work/log" 2>&1 || ! grep -q 'All tests passed' "$work/log"; then
        alive "$1: without it \"$3\" does not pass"
        return
    fi
    if UFX_MUTANT=$1 timeout 300 ./test_ucp_mutants "$3" >"$work/log" 2>&1 ||
        ! grep -q '^test cases:.* failed' "$work/log"; then
        alive "$1 in \"$3\""
    else
        echo "killed: $1 ($2): by test_ucp \"$3\""
        passed=$((passed + 1))
    fi
}

while IFS=$tab read -r mutant _ rows killer; do
    case $mutant in '' | '#'*) continue ;; esac
    if [ -n "$only" ] && [ "$only" != "$mutant" ]; then continue; fi
    case $killer in
    rc-* | tcp-*) explore "$mutant" "$rows" "$killer" ;;
    *) run_test "$mutant" "$rows" "$killer" ;;
    esac
done <"$table"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
