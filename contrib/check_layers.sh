#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check who includes whom: every #include in src/ and include/ against the table of layers.
#     check_layers.sh [TREE]     check TREE (default: the tree of this script)
# Runs its own self-test first: a tree with one wrong include a layer must be refused.
set -eu

# The table: for each folder, longest prefix first, what its files may include.
#   "x/"  quoted headers of folder src/x      <x>  installed headers      sys  anything else in <>
may_include() {
    case $1 in
    include/ufx/*) echo '<ufx/*> libc' ;;
    src/ucs/*) echo 'ucs/* <ufx/*> sys' ;;
    src/uct/base/*) echo 'uct/base/* ucs/* <ufx/*> sys' ;;
    src/uct/ib/*/*) echo "$(own_folder "$1") uct/ib/common/* uct/base/* ucs/* <ufx/*> sys" ;;
    src/uct/*/*) echo "$(own_folder "$1") uct/base/* ucs/* <ufx/*> sys" ;;
    src/uct/*) echo 'uct/* ucs/* <ufx/*> sys' ;;
    src/ucp/core/*) echo 'ucp/core/* ucs/* <ufx/status.h> <ufx/version.h> sys' ;;
    src/ucp/*) echo 'ucp/* ucs/* <ufx/*> sys' ;;
    src/tools/*) echo 'tools/* <ufx/*> sys' ;;
    src/swhca/*) echo 'swhca/* ucs/* <ufx/status.h> <ufx/ucs.h> <ufx/version.h> sys' ;;
    *) echo 'nothing: the folder is not in the table' ;;
    esac
}

own_folder() {
    folder=${1#src/}
    echo "${folder%/*}/*"
}

# Is include $2 (as written, with its quotes or brackets) of file $1 allowed by the words $3...?
allowed() {
    file=$1 what=$2
    shift 2
    case $what in
    '"config.h"' | '<config.h>') case $file in src/*) return 0 ;; *) return 1 ;; esac ;;
    *../*) return 1 ;;
    esac
    case $what in
    '"ufx/'*'"') name=${what#\"} name="<${name%\"}>" ;;
    '"'*/*'"') name=${what#\"} name=${name%\"} ;;
    '"'*'"') name=${what#\"} name=${file#src/} name=${name%/*}/${what#\"} name=${name%\"} ;;
    *) name=$what ;;
    esac
    for word in "$@"; do
        # shellcheck disable=SC2254 # the last branch takes the word as a pattern
        case $word in
        sys) case $name in '<ufx/'* | '<ucs/'* | '<uct/'* | '<ucp/'*) ;; '<'*) return 0 ;; esac ;;
        libc) case $name in
            '<std'*.h'>' | '<string.h>' | '<errno.h>' | '<limits.h>' | '<sys/'*.h'>' | \
                '<netinet/in.h>' | '<time.h>') return 0 ;;
            esac ;;
        *) case $name in $word) return 0 ;; esac ;;
        esac
    done
    return 1
}

check_tree() (
    cd "$1"
    set -f
    find include src -type f \( -name '*.h' -o -name '*.c' -o -name '*.cpp' \) | sort |
        xargs grep -HnE '^[[:space:]]*#[[:space:]]*include' /dev/null |
        sed -E 's/^([^:]*):([0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]*[">]).*/\1 \2 \3/' |
        {
            bad=0 count=0 last=
            while read -r file line what; do
                count=$((count + 1))
                [ "$file" = "$last" ] || words=$(may_include "$file") last=$file
                # shellcheck disable=SC2086 # a list of words
                if ! allowed "$file" "$what" $words; then
                    echo "$file:$line: may not include $what (it may: $words)"
                    bad=$((bad + 1))
                fi
            done
            echo "$count includes, $bad against the layers"
            [ "$bad" -eq 0 ] && [ "$count" -gt 0 ]
        }
)

# One file with one include; $3 is what the check must answer.
try() {
    tree=$(mktemp -d "$scratch/tree.XXXXXX")
    mkdir -p "$tree/include" "$tree/src" "$tree/$(dirname "$1")"
    printf '#include %s\n' "$2" >"$tree/$1"
    if check_tree "$tree" >/dev/null; then answer=good; else answer=bad; fi
    if [ "$answer" != "$3" ]; then
        echo "self-test: $2 in $1 was found $answer instead of $3"
        exit 1
    fi
}

self_test() {
    try include/ufx/a.h '<ufx/status.h>' good
    try include/ufx/a.h '<stdint.h>' good
    try include/ufx/a.h '<vector>' bad
    try include/ufx/a.h '"ucs/log.h"' bad
    try src/ucs/a.h '"ucs/log.h"' good
    try src/ucs/a.h '"uct/base/ep.h"' bad
    try src/uct/base/a.h '"uct/tcp/ep.h"' bad
    try src/uct/tcp/a.h '"uct/base/ep.h"' good
    try src/uct/tcp/a.h '"uct/self/ep.h"' bad
    try src/uct/tcp/a.h '"../self/ep.h"' bad
    try src/ucp/core/a.h '<ufx/status.h>' good
    try src/ucp/core/a.h '"ufx/status.h"' good
    try src/ucp/core/a.h '<ufx/uct.h>' bad
    try src/ucp/core/a.h '"ufx/uct.h"' bad
    try src/ucp/core/a.h '"ucp/worker.h"' bad
    try src/ucp/a.h '<ufx/uct.h>' good
    try src/ucp/a.h '"uct/base/ep.h"' bad
    try src/tools/a.h '<ufx/ucp.h>' good
    try src/tools/a.h '"ucs/log.h"' bad
    try src/swhca/a.h '"ucs/bytes.h"' good
    try src/swhca/a.h '<ufx/uct.h>' bad
    try src/swhca/a.h '"uct/base/ep.h"' bad
    try src/swhca/a.h '"tools/common/units.h"' bad
    try src/other/a.h '<vector>' bad
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
self_test
check_tree "${1:-$(dirname "$0")/..}"
