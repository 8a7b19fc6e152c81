#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check the text of every source: a license line on top, nothing left open, no code switched off.
# Runs its own self-test first.
set -eu

# check_file FILE: complains and returns 1
check_file() {
    ok=0
    head -n 3 "$1" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' ||
        { echo "$1: no SPDX line on top"; ok=1; }
    # The words are put together so that this file passes.
    if grep -nE "\\b(TO""DO|FIX""ME|XX""X)\\b|^[[:space:]]*#[[:space:]]*if[[:space:]]+0\\b" "$1"; then
        echo "$1: something is left open or switched off"
        ok=1
    fi
    if grep -n '[[:space:]]$' "$1"; then
        echo "$1: space at the end of a line"
        ok=1
    fi
    return $ok
}

refused() {
    printf '%b' "$1" >"$scratch/a.cpp"
    if check_file "$scratch/a.cpp" >/dev/null; then
        echo "self-test: accepted: $1"
        exit 1
    fi
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
spdx='// SPDX-License-Identifier: BSD-3-Clause\n'
refused 'int a;\n'
refused "$spdx// TO""DO: more\n"
refused "$spdx#if 0\n#endif\n"
refused "${spdx}int a; \n"

cd "${UFX_TEST_SRCDIR:-$(dirname "$0")/..}"
bad=0 count=0
for file in $(find include src test examples contrib m4 .ci docs -type f \
    \( -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.mk' -o -name '*.m4' -o -name '*.sh' \
    -o -name '*.py' \) ! -name 'libtool.m4' ! -name 'lt*.m4' | sort); do
    count=$((count + 1))
    check_file "$file" || bad=$((bad + 1))
done
echo "$count sources, $bad refused"
[ "$bad" -eq 0 ] && [ "$count" -gt 0 ]
