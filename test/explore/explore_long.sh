#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The whole exploration of make check-long: many seeds of long walks, then breadth first as far as
# memory allows (a state is about 4 KB).
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
for seed in 11 12 13 14; do
    ./explore --seed $seed --walks 40000 --length 300 --states 0
done
exec ./explore --seed 5 --walks 1000 --states 300000 --epochs 3 --unreached "$folder/unreached.txt"
