#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Installs into a scratch folder, compiles test/oot/loop.c against the installed headers alone, loads
# it through UFX_PLUGIN_PATH beside broken modules, and uses it. Run by make check in the build
# folder, which gives CC.
set -eu

if [ -n "${UFX_TEST_SANITIZE:-}" ]; then
    echo "SKIP: a plain program cannot load sanitized libraries"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
oot=$(cd "$(dirname "$0")" && pwd)
CC=${CC:-gcc}
failed=0

verdict() {
    echo "$1: $2"
    [ "$1" = PASS ] || failed=$((failed + 1))
}

# What is built already is only copied; libtool relinks. The outer make's jobs are not ours.
env -u MAKEFLAGS -u MFLAGS make -s install DESTDIR="$scratch/root" >"$scratch/install.log" 2>&1 || {
    tail -20 "$scratch/install.log"
    exit 99
}
include=$(dirname "$(dirname "$(find "$scratch/root" -name uct_ops.h)")")
lib=$(dirname "$(find "$scratch/root" -name libufx_uct.so)")
plugins=$scratch/plugins
mkdir -p "$plugins"
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -fPIC -I$include"

module() { # NAME SOURCE
    # shellcheck disable=SC2086
    $CC $flags -fvisibility=hidden -shared "$oot/$2" -o "$plugins/libufx_uct_$1.so.0"
}

for header in status version uct_types uct_ops uct; do
    echo "#include <ufx/$header.h>" >"$scratch/alone.c"
    # shellcheck disable=SC2086
    $CC $flags -fsyntax-only "$scratch/alone.c" || verdict FAIL "ufx/$header.h compiles alone"
done

module loop loop.c
# shellcheck disable=SC2086
$CC $flags "$oot/use_loop.c" -L"$lib" -lufx_uct -lufx_ucs -o "$scratch/use_loop"
export LD_LIBRARY_PATH="$lib" UFX_PLUGIN_PATH="$plugins" UFX_LOG_LEVEL=warn

if "$scratch/use_loop" >"$scratch/out" 2>&1 && grep -q '^component loop$' "$scratch/out" &&
    ! grep -qi warn "$scratch/out"; then
    verdict PASS "a transport built out of the tree is listed and works"
else
    cat "$scratch/out"
    verdict FAIL "a transport built out of the tree is listed and works"
fi

module abi wrong_abi.c
module nosymbol no_symbol.c
module incomplete incomplete.c
echo "this is no library" >"$plugins/libufx_uct_garbage.so.0"
head -c 2000 "$plugins/libufx_uct_loop.so.0" >"$plugins/libufx_uct_truncated.so.0"
cp "$plugins/libufx_uct_loop.so.0" "$plugins/libufx_uct_second.so.0" # the same component again

if "$scratch/use_loop" >"$scratch/out" 2>&1; then
    verdict PASS "broken modules do not touch the others"
else
    cat "$scratch/out"
    verdict FAIL "broken modules do not touch the others"
fi
for name in abi nosymbol incomplete garbage truncated second; do
    lines=$(grep -c "libufx_uct_$name.so.0" "$scratch/out" || true)
    if [ "$lines" -eq 1 ] && grep "libufx_uct_$name.so.0" "$scratch/out" | grep -q WARN; then
        verdict PASS "a broken module is one WARN line: $name"
    else
        cat "$scratch/out"
        verdict FAIL "a broken module is one WARN line: $name ($lines lines)"
    fi
done

[ "$failed" -eq 0 ]
