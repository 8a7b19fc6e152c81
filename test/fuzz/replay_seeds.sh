#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Give every fuzz target its seeds, one test case a target. Run in the build folder.
set -eu

seeds=${UFX_TEST_SRCDIR:-$(dirname "$0")/../..}/test/fuzz/seeds
results=${UFX_TEST_RESULTS:-/dev/null}
status=0
for folder in "$seeds"/*/; do
    [ -d "$folder" ] || { echo "no seeds"; exit 77; }
    name=$(basename "$folder")
    case $name in # not in every build
        swhca_*) [ -x ./ufx_swhca ] || continue ;;
        ib_*) [ -e ./libufx_uct_ib.la ] || continue ;;
    esac
    if [ ! -x "./fuzz_$name" ]; then
        echo "seeds without a target: $folder"
        status=1
    elif "./fuzz_$name" "$folder"*; then
        echo ":test-result: PASS fuzz seeds of $name" >>"$results"
    else
        echo ":test-result: FAIL fuzz seeds of $name" >>"$results"
        status=1
    fi
done
exit $status
