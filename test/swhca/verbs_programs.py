#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of rdma-core run unchanged: devices, ping-pong by polling and by events, SRQ, UD."""

import tempfile

from swhca_run import Checks, Fabric, need

PROGRAMS = ("ibv_rc_pingpong", "ibv_srq_pingpong", "ibv_ud_pingpong")
ROUNDS = "10"


def devices(checks):
    for layer, gid, text in (("eth", "::ffff:10.77.0.3", "Ethernet"), ("ib", "", "InfiniBand")):
        fabric = Fabric("--hca", "3", "--link-layer", layer, "--mtu", "2048")
        status, output = fabric.run("ibv_devinfo", "-v")
        checks.that(status == 0 and all(f"mlx5_{i}" in output for i in range(3)),
                    f"ibv_devinfo finds three devices ({layer})", output)
        for wanted in ("vendor_id:\t\t\t0x02c9", "PORT_ACTIVE", text, "active_mtu:\t\t2048", gid):
            checks.that(wanted in output, f"ibv_devinfo shows '{wanted}' ({layer})", output)
        checks.that(fabric.close(), f"nothing is left of the fabric ({layer})")


def ping_pongs(checks):
    for engine in ("trap", "hook"):
        fabric = Fabric("--engine", engine)
        for program in PROGRAMS:
            for options in ([], ["-e"]) if "rc" in program else ([],):
                size = ["-s", "1024"] if "ud" in program else []
                command = [program, "-g", "1", "-n", ROUNDS, *size, *options]
                statuses, outputs = fabric.pair(command, "-p")
                checks.that(statuses == [0, 0], f"{' '.join(command)} ({engine})",
                            "\n".join(outputs))
        checks.that(fabric.close(), f"nothing is left of the fabric ({engine})")


def lids(checks):
    fabric = Fabric("--link-layer", "ib")
    for program in ("ibv_rc_pingpong", "ibv_ud_pingpong"):
        statuses, outputs = fabric.pair([program, "-n", ROUNDS, "-s", "1024"], "-p")
        checks.that(statuses == [0, 0] and "LID 0x0001" in outputs[0], f"{program} with LIDs",
                    "\n".join(outputs))
    fabric.close()


def scatter_to_cqe(checks):
    with tempfile.NamedTemporaryFile("w", suffix=".faults") as knob:
        knob.write("scatter-to-cqe on\n")
        knob.flush()
        fabric = Fabric("--faults", knob.name)
        keeper = fabric.start("stdbuf", "-oL", "ibv_asyncwatch")
        keeper.stdout.readline()  # it has opened the device, so the fabric stays

        def inlined():
            return fabric.show()["hcas"][0]["counters"]["inlined"]

        for program, option in (("ibv_rc_pingpong", "-c"), ("ibv_srq_pingpong", "-e")):
            # What fits, by the size of a CQE.
            for setting, entry, size, some in (("1", "64", "32", True), ("0", "64", "32", False),
                                               ("1", "64", "64", False), ("1", "128", "64", True)):
                command = [program, "-g", "1", "-n", ROUNDS, "-s", size, option]
                before = inlined()
                statuses, outputs = fabric.pair(command, "-p",
                                                environment={"MLX5_SCATTER_TO_CQE": setting,
                                                             "MLX5_CQE_SIZE": entry})
                checks.that(statuses == [0, 0] and "invalid data" not in "".join(outputs),
                            f"{' '.join(command)}, MLX5_SCATTER_TO_CQE={setting}, "
                            f"MLX5_CQE_SIZE={entry}", "\n".join(outputs))
                checks.that((inlined() > before) == some,
                            f"whose receives came in their CQEs: {some}")
        keeper.terminate()
        keeper.communicate()
        checks.that(fabric.close(), "nothing is left of the fabric that scatters")


def refusals(checks):
    """What is not modelled is refused before anybody waits for a peer."""
    fabric = Fabric()
    for program, text in (("ibv_uc_pingpong", "Couldn't create QP"),
                          ("ibv_xsrq_pingpong", "Couldn't Open the XRC Domain 95")):
        status, output = fabric.run(program, "-g", "1")
        checks.that(status == 1 and output.splitlines() == [text], f"{program} is refused", output)
    checks.that(fabric.close(), "nothing is left of the fabric that refuses")


def main():
    need("ibv_devinfo", "ibv_uc_pingpong", "ibv_xsrq_pingpong", *PROGRAMS)
    checks = Checks()
    devices(checks)
    ping_pongs(checks)
    lids(checks)
    scatter_to_cqe(checks)
    refusals(checks)
    checks.end()


main()
