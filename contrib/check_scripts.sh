#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check every shell script of the tree with shellcheck. Skipped (77) where it is not installed.
set -eu

if ! command -v shellcheck >/dev/null; then
    echo "shellcheck is not installed"
    exit 77
fi
cd "${UFX_TEST_SRCDIR:-$(dirname "$0")/..}"
scripts=$(find . \( -name .git -o -name 'build*' -o -name autom4te.cache \) -prune -o -type f -print |
    while read -r file; do
        case $file in
        *~ | ./configure | ./config.* | ./ltmain.sh | ./install-sh | ./compile | ./missing | \
            ./depcomp | ./libtool | ./test-driver | ./ar-lib) continue ;;
        esac
        if head -n 1 "$file" | grep -qaE '^#! ?/bin/(ba|da)?sh|^#! ?/usr/bin/env (ba)?sh'; then
            echo "$file"
        fi
    done)
# shellcheck disable=SC2086 # a list of files
shellcheck --severity=warning $scripts
echo "$(echo "$scripts" | wc -l) scripts are clean"
