#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Instructions of each operation, by callgrind, against test/bench/baseline.tsv: more than 2 % and
# more than 2 instructions above it is a failure. Run in the build folder, which has to be built
# with optimisation and without sanitizers.
#     check_instructions.sh [--update] PROGRAM...     each PROGRAM is as bench_ops
# --update writes the baseline anew. Of bench_rdma and bench_verbs only the caller's own instructions
# count, see count_own.
set -eu

top=${UFX_TEST_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
baseline=$top/test/bench/baseline.tsv
update=no
[ "${1:-}" = --update ] && { update=yes; shift; }
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
compiler=$(${CXX:-g++} -dumpfullversion 2>/dev/null | cut -d . -f 1)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [ $update = no ] && ! grep -q "^# compiler $compiler\$" "$baseline"; then
    echo "the baseline is for another compiler than $compiler"
    exit 77
fi

# callgrind OPTION... PROGRAM OP N
callgrind() {
    ./libtool --mode=execute valgrind --tool=callgrind --callgrind-out-file="$scratch/out.%p" \
        "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
}

# count_own PROGRAM OP N [purge]: on a ConnectX in software, instructions of the transport and of what it
# calls in libc (and libmlx5), inside the program's functions counted_*. The device's own, which run
# in the handler of a trapped doorbell, and the program's are left out. The handler puts registers
# back, so valgrind must know them all at each store. With `purge` only those that write what nobody
# but a purge reads.
count_own() {
    rm -f "$scratch/out"*
    callgrind --vex-guest-max-insns=1 --compress-strings=no --compress-pos=no --toggle-collect='counted_*' \
        --px-default=allregs-at-mem-access --px-file-backed=allregs-at-mem-access --trace-children=yes \
        ./ufx_swhca run --engine trap -- "./$1" "$2" "$3"
    awk -v purge_lines="$(purge_lines)" -v purge_only="${4:-}" '
        BEGIN {
            ranges = split(purge_lines, range, " ")
        }
        function is_own(object) { return object ~ /libufx_uc[pst]|libmlx5|libibverbs/ }
        function is_for_purge(file, line, i, at) {
            for (i = 1; i <= ranges; i++) {
                split(range[i], at, ":")
                if (index(file, at[1]) && line >= at[2] && line <= at[3]) {
                    return 1
                }
            }
            return 0
        }
        /^ob=/ { object = substr($0, 4) }
        /^f[lie]=/ { file = substr($0, 4) }
        /^cob=/ { callee = substr($0, 5) }
        /^calls=/ { is_call = 1; next }
        /^[0-9]/ {
            if (purge_only) {
                sum += !is_call && is_own(object) && is_for_purge(file, $1) ? $2 : 0
            } else if (!is_call ? is_own(object) : is_own(object) && callee ~ /libc[.-]/) {
                sum += $2
            }
            is_call = 0
            callee = ""
        }
        END { print sum + 0 }' "$scratch/out"*
}

# purge_lines: FILE:FIRST:LAST of each function whose comment says "for a purge alone".
purge_lines() {
    grep -rl 'for a purge alone' "$top/src/uct" | sort | while read -r source; do
        awk -v name="${source#"$top"/}" '
            /for a purge alone/ { marked = 1 }
            marked && /^    \{|^\{/ { first = NR }
            first && /^    \}|^\}/ { print name ":" first ":" NR; marked = first = 0 }' "$source"
    done
}

# count PROGRAM OP N: instructions of the whole run
count() {
    case $1:$2 in
    *:*/purge) count_own "$1" "${2%/purge}" "$3" purge ;;
    bench_rdma:* | bench_verbs:*) count_own "$@" ;;
    *)
        callgrind "./$1" "$2" "$3"
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$scratch/log"
        ;;
    esac
}

few=3200 many=9600
passed=0 failed=0
for program in "$@"; do
    ops=$("./$program")
    [ "$program" != bench_rdma ] || ops="$ops put_zcopy/purge"
    for op in $ops; do
        low=$(count "$program" "$op" $few)
        high=$(count "$program" "$op" $many)
        each=$(awk -v a="$low" -v b="$high" -v n=$((many - few)) 'BEGIN{printf "%.1f", (b - a) / n}')
        echo "$program	$op	$each" >>"$scratch/counts"
        [ $update = no ] || continue
        if verdict=$(awk -F '\t' -v p="$program" -v o="$op" -v n="$each" '
            $1 == p && $2 == o {
                known = 1
                bad = n > $3 * 1.02 && n > $3 + 2
                printf "%s %s: %s instructions, baseline %s%s\n", p, o, n, $3, bad ? ": too many" : ""
                exit
            }
            END { if (!known) print p, o ": no baseline"; exit !known || bad }' "$baseline"); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
        fi
        echo "$verdict"
    done
done
if [ $update = yes ]; then
    {
        echo "# SPDX-License-Identifier: BSD-3-Clause"
        echo "# Instructions of an operation, whole process, both sides; by check_instructions.sh --update."
        echo "# compiler $compiler"
        cat "$scratch/counts"
    } >"$baseline"
    cat "$baseline"
    exit 0
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
