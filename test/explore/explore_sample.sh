#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The sample of the explorer that make check runs: a fixed seed, bounded by states, not by time.
# rows: X01 X02 X04 X05 X07 X09 X10 X11 X16 X19 X20 X22 X23 X24 X25 X26
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
status=0
./explore --unreached "$folder/no-such-file" >/dev/null 2>&1 || status=$?
[ "$status" -eq 2 ] || { echo "a missing file of --unreached is not refused: $status"; exit 1; }
exec ./explore --seed 1 --walks 2000 --states 1500 --unreached "$folder/unreached.txt"
