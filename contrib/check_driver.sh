#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check that the test driver and the count tell the truth: a failure, a crash, a hang, a skip and
# a missing result are each found.
set -eu

here=$(cd "${UFX_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)/contrib
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
unset UFX_TEST_ARGS

# one NAME LIMIT SCRIPT: run SCRIPT as a test of that name
one() {
    UFX_TEST_TIMEOUT=$2 "$here/test_driver" --test-name "$1" --log-file "$1.log" \
        --trs-file "$1.trs" --color-tests no --expect-failure no --enable-hard-errors yes -- \
        sh -c "$3" >/dev/null
}

# expect NAME LINE: the result must hold exactly this line
expect() {
    grep -qxF ":test-result: $2" "$1.trs" || { echo "$1: no '$2' in:"; cat "$1.trs"; exit 1; }
}

one good 9 'true'
expect good 'PASS good'
one bad 9 'exit 3'
expect bad 'FAIL bad # exit status 3'
one hang 1 'sleep 30'
expect hang 'FAIL hang # no end after 1 s'
one absent 9 'echo no device; exit 77'
expect absent 'SKIP absent # no device'
one cases 9 'printf ":started: a\n:test-result: PASS a\n:started: b\n" >"$UFX_TEST_RESULTS"; kill -9 $$'
expect cases 'PASS a'
grep -q '^:test-result: FAIL b' cases.trs
one late 9 'printf ":started: a\n:test-result: PASS a\n" >"$UFX_TEST_RESULTS"; exit 5'
expect late 'FAIL late # exit status 5'

UFX_TEST_ARGS=none one filtered 9 'true'
if grep -q '^:test-result:' filtered.trs; then
    echo "a program without a matching case was counted"
    exit 1
fi

"$here/count_tests" good.trs absent.trs filtered.trs >count
[ "$(tail -n 1 count)" = '1 passed, 0 failed, 1 skipped' ]
grep -q '^skipped: absent # no device' count
if "$here/count_tests" good.trs bad.trs hang.trs absent.trs cases.trs late.trs none.trs >count; then
    echo "the count forgave failures"
    exit 1
fi
[ "$(tail -n 1 count)" = '3 passed, 5 failed, 1 skipped' ] || { cat count; exit 1; }
echo "the driver finds failures, crashes, hangs, skips and missing results"
