#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check what `make install` leaves: a C11 program builds by pkg-config and runs against it alone,
# every public header is there, each tool starts, and after `make uninstall` nothing is left. Run
# in the build folder.
set -eu

unset MAKEFLAGS MFLAGS MAKELEVEL
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
make -s install DESTDIR="$root" >"$root.log" 2>&1 || { cat "$root.log"; rm -f "$root.log"; exit 1; }
rm -f "$root.log"

pc=$(find "$root" -name ufx-ucp.pc)
[ -n "$pc" ] || { echo "no ufx-ucp.pc installed"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
libdir=$root$(PKG_CONFIG_SYSROOT_DIR='' pkg-config --variable=libdir ufx-ucp)
cat >"$root/program.c" <<'PROGRAM'
#include <stdio.h>
#include <ufx/version.h>
int main(void)
{
    return puts(ufx_ucs_version_string()) < 0;
}
PROGRAM
# shellcheck disable=SC2046,SC2086 # lists of flags
${CC:-gcc} -std=c11 -Wall -Werror ${UFX_TEST_SANITIZE:-} $(pkg-config --cflags ufx-ucp) \
    "$root/program.c" -o "$root/program" $(pkg-config --libs ufx-ucp)
LD_LIBRARY_PATH=$libdir "$root/program" >"$root/version"
grep -qx "$(pkg-config --modversion ufx-ucp)" "$root/version"
for tool in "$root"/"$(dirname "${libdir#"$root"}")"/bin/ufx_*; do
    [ -e "$tool" ] || continue
    LD_LIBRARY_PATH=$libdir "$tool" --help >/dev/null
done
for header in "$UFX_TEST_SRCDIR"/include/ufx/*.h; do
    [ -n "$(find "$root" -path "*/ufx/${header##*/}")" ] || {
        echo "not installed: $header"
        exit 1
    }
done
installed=$(find "$root" ! -type d ! -name 'program*' ! -name version | wc -l)

# The self-test: a file that nobody installed must be found.
left() { find "$root" -mindepth 1 ! -name 'program*' ! -name version \( ! -type d -o -name '*ufx*' \); }
touch "$root/libufx_left_behind"
make -s uninstall DESTDIR="$root" >/dev/null
[ "$(left)" = "$root/libufx_left_behind" ] || {
    echo "left after uninstall:"
    left
    exit 1
}
echo "$installed files installed, none left after uninstall"
