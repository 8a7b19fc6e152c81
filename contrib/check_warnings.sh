#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check that the flags of this build refuse code that forgets a prototype, declares inside a
# function, or is otherwise warned about, and that each build of CI makes warnings errors.
# rows: U16
# Run in the build folder.
set -eu

top=${UFX_TEST_SRCDIR:-$(dirname "$0")/..}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# of_makefile NAME: the value of a variable of the build
of_makefile() { sed -n "s/^$1 = //p" Makefile; }

# compiles LANGUAGE CODE: with the build's own flags, as in CI
compiles() {
    case $1 in
    c) set -- c "$2" "$(of_makefile CC)" "-std=c11 $(of_makefile UFX_CFLAGS)" ;;
    *) set -- c++ "$2" "$(of_makefile CXX)" "-std=c++20 $(of_makefile UFX_CXXFLAGS)" ;;
    esac
    printf '%s\n' "$2" >"$folder/code"
    # shellcheck disable=SC2086 # lists of words
    $3 $4 -Werror -x "$1" -c -o "$folder/code.o" "$folder/code" 2>"$folder/said"
}

for language in c c++; do
    if ! compiles "$language" 'int good(void); int good(void) { return 0; }'; then
        echo "good $language is refused:"
        cat "$folder/said"
        exit 1
    fi
done
refuse() {
    if compiles "$1" "$2"; then
        echo "is not refused in $1: $2"
        exit 1
    fi
}
refuse c 'int nobody_declares_it(void) { return 0; }'
refuse c 'int outer(void); int outer(void) { extern int inner(void); return inner(); }'
refuse c 'int outer(void); int outer(void) { int unused; return 0; }'
case $(of_makefile CXX) in
*clang*) ;; # has no such warning for C++
*) refuse c++ 'int nobody_declares_it() { return 0; }' ;;
esac
refuse c++ 'static int nobody_calls_it() { return 0; }'

builds=$(grep -c 'contrib/\(check\|prepare\)' "$top/.ci/run" || true)
strict=$(grep -c 'contrib/\(check\|prepare\).*--enable-werror' "$top/.ci/run" || true)
named=$(grep -c '^# CI on one machine.*contrib/check' "$top/.ci/run" || true)
if [ "$strict" -eq 0 ] || [ "$((builds - named))" -ne "$strict" ]; then
    echo ".ci/run: $strict of $((builds - named)) builds have --enable-werror"
    exit 1
fi
