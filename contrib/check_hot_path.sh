#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Check that posting and polling of the RDMA transports have no locked instruction: whoever fails an
# operation from another thread posts to a mailbox, so the path of an operation pays nothing for it.
# What is out of line for events (.cold) does not count. Run in the build folder.
# rows: M24
# Runs its own self-test first: a function with such an instruction must be found.
set -eu

# locked FILE PATTERN: functions of FILE that match, with their number, and those that lock the bus
locked() {
    objdump -d --no-show-raw-insn -C "$1" | awk -v pattern="$2" '
        /^[0-9a-f]+ <.*>:$/ {
            hot = $0 ~ pattern && $0 !~ /\[clone \.cold\]/
            name = $0
            count += hot
        }
        hot && (/[ \t]lock / || /[ \t]xchg .*\(/ || /[ \t]mfence/) { print name; bad = 1 }
        END { print count + 0 " functions"; exit bad }'
}

case $(uname -m) in x86_64) ;; *) echo "reads x86-64 code only"; exit 77 ;; esac
[ -z "${UFX_TEST_SANITIZE:-}" ] || { echo "a sanitizer adds atomics of its own"; exit 77; }
library=.libs/libufx_uct_ib.so.0
[ -e "$library" ] || { echo "libufx_uct_ib was not built"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/a.c" <<'CODE'
int claimed;
int claim(void) { return __atomic_exchange_n(&claimed, 1, __ATOMIC_SEQ_CST); }
CODE
${CC:-gcc} -O2 -c -o "$folder/a.o" "$folder/a.c"
if locked "$folder/a.o" '<claim>' >"$folder/found"; then
    echo "an exchange was not found"
    exit 1
fi

# Each slot of the ops tables by which operations are posted, and the one that polls.
slots='slot_type<.*method::(am|put|get|atomic[0-9]*)_[a-z]*>|slot_type<.*method::(progress|fence)>'
if ! locked "$library" "$slots" >"$folder/found"; then
    echo "locked instructions on the path of an operation:"
    cat "$folder/found"
    exit 1
fi
tail -n 1 "$folder/found"
if [ "$(sed -n '$s/ functions//p' "$folder/found")" -lt 20 ]; then
    echo "the functions have other names now: this check sees too few of them"
    exit 1
fi
