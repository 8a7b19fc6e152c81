#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: two rails of soft-RoCE over a veth pair each, and the tests on them. What came of it is
# in /mnt/out: a log, the cases, and last of all the status.
set -u
. /mnt/out/settings # BUILD, FILTERS
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp

finish() {
    echo "$1" >/mnt/out/status
    sync
    echo o >/proc/sysrq-trigger
    sleep 60
}

load() {
    while read -r module; do insmod "$module" || true; done </mnt/out/modules.late
}

# rail I: devices rxa$I and rxb$I, 10.0.I.1 and 10.0.I.2. The namespace is one, so that one process has
# both; the kernel would send from one to the other by the loopback interface but for these rules.
rail() {
    ip link add "a$1" type veth peer name "b$1"
    for end in a b; do
        echo 1 >"/proc/sys/net/ipv4/conf/$end$1/accept_local"
        echo 0 >"/proc/sys/net/ipv4/conf/$end$1/rp_filter"
    done
    ip addr add "10.0.$1.1/24" dev "a$1" noprefixroute
    ip addr add "10.0.$1.2/24" dev "b$1" noprefixroute
    ip link set "a$1" up
    ip link set "b$1" up
    ip rule add from "10.0.$1.1" to "10.0.$1.2" iif lo lookup "$((100 + $1))" pref 10
    ip rule add from "10.0.$1.2" to "10.0.$1.1" iif lo lookup "$((200 + $1))" pref 10
    ip route replace "10.0.$1.2" dev "a$1" table "$((100 + $1))"
    ip route replace "10.0.$1.1" dev "b$1" table "$((200 + $1))"
    rdma link add "rxa$1" type rxe netdev "a$1"
    rdma link add "rxb$1" type rxe netdev "b$1"
}

{
    date
    load
    ip link set lo up
    echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
    ip rule add lookup local pref 100
    ip rule del pref 0
    rail 0
    rail 1
    for _ in $(seq 100); do
        [ "$(rdma link show | grep -c 'state ACTIVE')" -eq 4 ] && break
        sleep 0.1
    done
    rdma link show
    ls /dev/infiniband
    cut -d' ' -f1 /proc/uptime
    cd "$BUILD" || finish 1
    status=0
    # Seven retries are for ever on soft-RoCE.
    export UFX_IB_RETRY_COUNT=3 UFX_TEST_VM=1 UFX_TEST_RESULTS=/mnt/out/results UFX_TEST_TRANSPORT=rc_verbs
    ./test_ib "[vm]" $FILTERS || status=1
    cut -d' ' -f1 /proc/uptime
    [ -n "$FILTERS" ] || ./test_uct "[conformance]" || status=1
    cut -d' ' -f1 /proc/uptime
} >/mnt/out/log 2>&1
finish "$status"
