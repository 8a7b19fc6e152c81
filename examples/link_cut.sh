#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# outstanding_purge over both RDMA transports on a ConnectX in software, slow enough that the cut
# finds puts under way: some have landed, others have not, and the token tells which.
# rows: U01 U10
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for transport in rc_mlx5 rc_verbs; do
    if ! ./ufx_swhca run --rate 1Gb/s -- ./outstanding_purge "$transport" mlx5_0:1 >"$log" 2>&1; then
        cat "$log"
        exit 1
    fi
    cat "$log"
    grep -q '^token EXACT: .* [1-9][0-9]* not$' "$log"
    grep -q '^all 64 puts are there: yes$' "$log"
done
