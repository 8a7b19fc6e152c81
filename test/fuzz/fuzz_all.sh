#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run each libFuzzer target for a while: fuzz_all.sh SEEDS SECONDS TARGET...
# New inputs go to fuzz-corpus/ in the build folder; an input that fails is kept in fuzz-crash/.
set -eu

seeds=$1 seconds=$2
shift 2
failed=0
mkdir -p fuzz-crash
for target in "$@"; do
    name=${target#fuzz_}
    mkdir -p "fuzz-corpus/$name"
    echo "$target: $seconds s"
    if ! "./$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="fuzz-crash/$name-" "fuzz-corpus/$name" "$seeds/$name" \
        >"fuzz-$name.log" 2>&1; then
        failed=$((failed + 1))
        tail -n 40 "fuzz-$name.log"
    fi
    grep -E 'number_of_executed_units|peak_rss' "fuzz-$name.log" || true
done
echo "$(($# - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
