#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check that what the documents name exists: paths of the tree, and targets of links.
# Runs its own self-test first: a document that names a missing file must be refused.
set -eu

# names_of FILE: the paths that a document mentions, without those with patterns in them
names_of() {
    grep -oE '(^|[^[:alnum:]_./$<*}-])(\.ci|contrib|docs|examples|include|m4|src|test)/[][[:alnum:]_./*{},<>$-]+' "$1" |
        sed -E 's/^[^[:alnum:].]//; s/[.,]+$//' | grep -vE '[][*{}<>$,]' || true
    grep -oE '\]\([^)#:]+' "$1" | sed 's/^](//' || true
}

# check_document TREE FILE
check_document() (
    cd "$1"
    lost=$(names_of "$2" | sort -u | while read -r name; do
        [ -e "$name" ] || [ -e "$(dirname "$2")/$name" ] || echo "$2 names $name, which is not there"
    done)
    [ -z "$lost" ] || { echo "$lost"; exit 1; }
)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/docs"
for text in 'see `src/gone.cpp`.' 'run contrib/gone' '[a link](docs/gone.md)'; do
    echo "$text" >"$scratch/a.md"
    if check_document "$scratch" a.md >/dev/null; then
        echo "self-test: accepted: $text"
        exit 1
    fi
done
echo 'see docs/, `src/*/local.mk`, test/<layer>/x, [this](a.md) and https://a.example/src/x' >"$scratch/a.md"
check_document "$scratch" a.md

cd "${UFX_TEST_SRCDIR:-$(dirname "$0")/..}"
bad=0 count=0
for file in README.md CONTRIBUTING.md NEWS docs/*.md; do
    [ -e "$file" ] || continue
    count=$((count + 1))
    check_document . "$file" || bad=$((bad + 1))
done
echo "$count documents, $bad name what is not there"
[ "$bad" -eq 0 ]
