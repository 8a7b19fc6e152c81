#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""UCX runs unchanged and drives the devices by its own WQEs (rc_mlx5) and by verbs (rc_verbs)."""

from swhca_run import Checks, Fabric, need

COMMON = {
    # UCX's own hooks would pass by a preloaded mmap().
    "UCX_MEM_MMAP_HOOK_MODE": "none",
    "UCX_MEM_EVENTS": "n",
    "UCX_IB_ROCE_REACHABILITY_MODE": "all",
    "UCX_WARN_UNUSED_ENV_VARS": "n",
}
ROUNDS = ["-n", "10", "-w", "1"]


def main():
    need("ucx_info", "ucx_perftest")
    checks = Checks()
    fabric = Fabric()
    status, output = fabric.run("ucx_info", "-d", environment=COMMON)
    for transport in ("rc_verbs", "rc_mlx5", "ud_mlx5"):
        checks.that(status == 0 and f"Transport: {transport}" in output, f"UCX offers {transport}",
                    output)
    for transport in ("rc_mlx5", "rc_verbs"):
        for test in (["am_lat", "-s", "64"], ["put_lat", "-s", "8"], ["get", "-s", "8192", "-D", "zcopy"],
                     ["cswap", "-s", "8"]):
            command = ["ucx_perftest", "-d", "mlx5_0:1", "-x", transport, "-t", *test, *ROUNDS]
            statuses, outputs = fabric.pair(command, "-p", environment=COMMON)
            checks.that(statuses == [0, 0], " ".join(command), "\n".join(outputs))
    for transports in ("rc_x", "rc_v"):
        environment = dict(COMMON, UCX_TLS=transports, UCX_NET_DEVICES="mlx5_0:1")
        for test in (["tag_bw", "-s", "1000000"], ["ucp_put_lat", "-s", "8"], ["ucp_get", "-s", "8"],
                     ["ucp_add", "-s", "8"]):
            command = ["ucx_perftest", "-t", *test, *ROUNDS]
            statuses, outputs = fabric.pair(command, "-p", environment=environment)
            checks.that(statuses == [0, 0], f"UCX_TLS={transports} {' '.join(command)}",
                        "\n".join(outputs))
    checks.that(fabric.close(), "nothing is left of the fabric")
    checks.end()


main()
