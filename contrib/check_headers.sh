#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check that every header compiles alone: the installed ones as C11 and as C++20 with -Wpedantic,
# those of src/ with the flags of the build (UFX_TEST_HEADER_FLAGS).
# Runs its own self-test first: headers with one fault each must be refused.
set -eu

tree=$(cd "${UFX_TEST_SRCDIR:-$(dirname "$0")/..}" && pwd)
strict='-Wall -Wextra -Wpedantic -Werror -fsyntax-only'
# shellcheck disable=SC2086 # compilers and flags are lists of words
as_c() { ${CC:-gcc} -std=c11 $strict -I"$1/include" -include "$2" -x c /dev/null; }
# shellcheck disable=SC2086
as_cxx() { ${CXX:-g++} -std=c++20 $strict -I"$1/include" -include "$2" -x c++ /dev/null; }
# shellcheck disable=SC2086
as_ours() {
    ${CXX:-g++} -std=c++20 -Wall -Wextra -Werror -fsyntax-only ${UFX_TEST_HEADER_FLAGS:-} \
        -I"$1/include" -I"$1/src" -include "$2" -x c++ /dev/null
}

# check_one TREE HEADER: both languages for an installed header, ours for one of src/.
check_one() {
    case $2 in
    "$1"/include/*) as_c "$1" "$2" && as_cxx "$1" "$2" ;;
    *) as_ours "$1" "$2" ;;
    esac
}

refused() {
    mkdir -p "$scratch/include/ufx" "$scratch/src/ucs"
    printf '%s\n' "$2" >"$scratch/$1"
    if check_one "$scratch" "$scratch/$1" 2>/dev/null; then
        echo "self-test: accepted $1 with: $2"
        exit 1
    fi
}

if [ "${1:-}" = --one ]; then
    if ! check_one "$tree" "$2"; then
        echo "does not compile alone: ${2#"$tree"/}"
        exit 1
    fi
    exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
refused include/ufx/not_alone.h 'uint32_t f(void);'
refused include/ufx/not_c.h 'namespace a {}'
refused include/ufx/not_cxx.h 'int f(int *restrict class);'
refused include/ufx/extension.h 'struct a { int n; char tail[0]; };'
refused src/ucs/not_alone.h 'std::string f();'

find "$tree/include" "$tree/src" -name '*.h' | sort >"$scratch/headers"
count=$(wc -l <"$scratch/headers")
xargs -n 1 -P "$(nproc)" "$0" --one <"$scratch/headers"
echo "$count headers compile alone"
