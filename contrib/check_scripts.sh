#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check every shell script of the tree with shellcheck. Skipped (77) where it is not installed.
set -eu

if ! command -v shellcheck >/dev/null; then
    echo "shellcheck is not installed"
    exit 77
fi
cd "${UFX_TEST_SRCDIR:-$(dirname "$0")/..}"
scripts=$(find . \( -name .git -o -name 'build*' -o -name autom4te.cache \) -prune -o -type f \
    ! -name '*~' ! -name 'config*' ! -name ltmain.sh ! -name install-sh ! -name compile \
    ! -name missing ! -name depcomp ! -name libtool ! -name test-driver ! -name ar-lib -print0 |
    xargs -0 awk 'FNR > 1 { nextfile } /^#! ?(\/usr\/bin\/env |\/bin\/)(ba|da)?sh/ { print FILENAME }')
scripts="$scripts $(echo contrib/configure-*)"
# shellcheck disable=SC2086 # a list of files
shellcheck --severity=warning $scripts
echo "$(echo "$scripts" | wc -w) scripts are clean"
