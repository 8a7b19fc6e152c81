#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check the text of every source: a license line on top, nothing left open, no code switched off,
# no space at the end of a line. Runs its own self-test first.
set -eu

# check_files FILE...: one line a fault, then the count; fails if there was a fault
check_files() {
    # The words are put together so that this file passes.
    awk -v open="(^|[^[:alnum:]_])(TO""DO|FIX""ME|XX""X)([^[:alnum:]_]|\$)" '
        function fault(text) { print FILENAME ":" FNR ": " text; bad++ }
        function finish() { if (last != "" && !licensed) { print last ": no SPDX line on top"; bad++ } }
        FNR == 1 { finish(); last = FILENAME; licensed = 0; files++ }
        FNR <= 3 && /SPDX-License-Identifier: BSD-3-Clause/ { licensed = 1 }
        $0 ~ open { fault("something is left open") }
        /^[[:space:]]*#[[:space:]]*if[[:space:]]+0([^[:alnum:]]|$)/ { fault("code is switched off") }
        /[[:space:]]$/ { fault("space at the end") }
        END { finish(); printf "%d sources, %d faults\n", files, bad; exit bad > 0 || files == 0 }
    ' "$@"
}

refused() {
    printf '%b' "$1" >"$scratch/a.cpp"
    if check_files "$scratch/a.cpp" >/dev/null; then
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
# shellcheck disable=SC2046 # names without spaces
check_files $(find include src test examples contrib m4 .ci docs -type f \
    \( -name '*.h' -o -name '*.c' -o -name '*.cpp' -o -name '*.mk' -o -name '*.m4' -o -name '*.sh' \
    -o -name '*.py' \) ! -name 'libtool.m4' ! -name 'lt*.m4' | sort)
