#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The long exploration of make check-long: several seeds of long walks, then breadth first, about ten
# minutes of one core. A state is about 4 KB.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
for seed in 11 12 13 14; do
    ./explore --seed $seed --walks 10000 --length 300 --states 0
done
exec ./explore --seed 5 --walks 2000 --states 60000 --epochs 3 --unreached "$folder/unreached.txt"
