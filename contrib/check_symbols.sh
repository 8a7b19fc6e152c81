#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check what the built libraries and modules show: `nm -D` has only ufx_* symbols, a module only
# ufx_uct_module_init, and the soname is NAME.so.0. Run in the build folder.
# Runs its own self-test first: a library with a foreign symbol or soname must be refused.
set -eu

# check_library FILE: FILE is libufx_x.so.0.0.0
check_library() {
    name=$(basename "$1")
    name=${name%.0.0}
    foreign=$(nm -D --defined-only "$1" | awk '$NF !~ /^ufx_/ { print $NF }')
    if [ -n "$foreign" ]; then
        echo "$1 shows foreign symbols:" "$foreign"
        return 1
    fi
    soname=$(readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    if [ "$soname" != "$name" ]; then
        echo "$1: soname is '$soname', not $name"
        return 1
    fi
    case $name in
    libufx_uct_*)
        shown=$(nm -D --defined-only "$1" | awk '{ print $NF }')
        if [ "$shown" != ufx_uct_module_init ]; then
            echo "$1: a module shows ufx_uct_module_init alone, not:" "$shown"
            return 1
        fi
        ;;
    esac
}

# refused NAME SONAME SOURCE
refused() {
    # shellcheck disable=SC2086 # the compiler may be two words
    printf '%s\n' "$3" | ${CC:-gcc} -shared -fPIC -Wl,-soname,"$2" -x c - -o "$scratch/$1.so.0.0.0"
    if check_library "$scratch/$1.so.0.0.0" >/dev/null; then
        echo "self-test: accepted $1 with soname $2 and: $3"
        exit 1
    fi
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
refused libufx_a libufx_a.so.0 'int ufx_f; int uct_f;'
refused libufx_b libufx_b.so 'int ufx_f;'
refused libufx_uct_c libufx_uct_c.so.0 'int ufx_uct_module_init; int ufx_more;'

bad=0 count=0
for file in .libs/libufx_*.so.0.0.0; do
    [ -e "$file" ] || { echo "no library in $(pwd)/.libs"; exit 1; }
    count=$((count + 1))
    check_library "$file" || bad=$((bad + 1))
done
echo "$count libraries and modules, $bad refused"
[ "$bad" -eq 0 ]
