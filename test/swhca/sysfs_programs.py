#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs and scripts that look at the sysfs see the devices, by whatever call they look."""

import os
import shutil
import subprocess
import sys
import tempfile

from swhca_run import BUILD, LIMIT_S, SWHCA, Checks, Fabric, need

PORT = "/sys/class/infiniband/mlx5_1/ports/1"
PCI = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:01.0"
IBSTATUS = """for device in /sys/class/infiniband/*; do
  for port in $device/ports/*; do
    echo "$(basename $device) $(basename $port) $(cat $port/state) $(cat $port/link_layer)"
  done
done"""
COMMANDS = [
    (["ls", "-l", "/sys/class/infiniband"], "mlx5_1 -> ../../devices/pci0000:3a"),
    (["ls", "-lR", PORT], "phys_state"),
    (["cat", PORT + "/gids/1"], "0000:0000:0000:0000:0000:ffff:0a4d:0002"),
    (["stat", "-c", "%F", PORT], "directory"),
    (["stat", "-L", "-c", "%F %t:%T", "/dev/infiniband/uverbs1"], "character special file 1:3"),
    (["test", "-c", "/dev/infiniband/uverbs0"], ""),
    (["test", "-r", PORT + "/lid"], ""),
    (["readlink", "/sys/class/infiniband/mlx5_1"], "../../devices/pci0000:3a"),
    (["readlink", "-f", "/sys/class/infiniband/mlx5_1/device"], PCI),
    (["realpath", "/sys/class/infiniband/mlx5_1/device"], PCI),
    (["find", "/sys/class/infiniband/", "-name", "mlx5_1"], "/sys/class/infiniband/mlx5_1"),
    (["grep", "-r", "ACTIVE", PORT], PORT + "/state:4: ACTIVE"),
    (["sh", "-c", IBSTATUS], "mlx5_1 1 4: ACTIVE Ethernet"),
    (["sh", "-c", f"cd {PORT} && cat state && pwd -P"], f"4: ACTIVE\n{PCI}/infiniband/mlx5_1/ports/1"),
    (["sh", "-c", f"cd {PORT} && [ -d gids ] && [ ! -e nothing ] && echo well"], "well"),
]
PYTHON = f"""
import glob, os, pathlib
print(sorted(os.listdir("/sys/class/infiniband")))
print(sorted(entry.name for entry in os.scandir("{PORT}") if entry.is_dir()))
print(glob.glob("/sys/class/infiniband/*/ports/1/state"))
print(pathlib.Path("/sys/class/infiniband/mlx5_1/device").resolve())
print(pathlib.Path("{PORT}/state").read_text(), os.path.exists("{PORT}/nothing"))
"""
PYTHON_SEES = ["['mlx5_0', 'mlx5_1']", "['gid_attrs', 'gids', 'pkeys']",
               "/sys/class/infiniband/mlx5_1/ports/1/state", PCI, "4: ACTIVE", "False"]


def main():
    need("ibv_devinfo")
    checks = Checks()
    fabric = Fabric("--hca", "2")
    for command, wanted in COMMANDS:
        status, output = fabric.run(*command)
        checks.that(status == 0 and wanted in output and fabric.directory not in output,
                    " ".join(command).replace("\n", " "), output)
    status, output = fabric.run(sys.executable, "-c", PYTHON)
    checks.that(status == 0 and all(line in output for line in PYTHON_SEES) and
                fabric.directory not in output, "python looks at the tree", output)
    if os.path.isdir("/dev/shm"):  # a disk lists names in an order of its own
        output = subprocess.run([SWHCA, "run", "--hca", "3", "--", "ibv_devices"], text=True,
                                capture_output=True, timeout=LIMIT_S, check=False).stdout
        names = [line.split()[0] for line in output.splitlines()[2:]]
        checks.that(names == ["mlx5_0", "mlx5_1", "mlx5_2"], "ibv_devices lists them in order", output)
    if shutil.which("ibstat"):
        status, output = fabric.run("ibstat")
        checks.that(status == 0 and "CA 'mlx5_1'" in output and "State: Active" in output, "ibstat",
                    output)
    checks.that(fabric.close(), "nothing is left of the fabric")
    with tempfile.NamedTemporaryFile("w") as schedule:
        schedule.write("at 300ms port-down\n")
        schedule.flush()
        fabric = Fabric("--faults", schedule.name)
        status, output = fabric.run(os.path.join(BUILD, "swhca_probe"), "port-file-before-event")
        checks.that(status == 0, "who hears of a port finds its file changed, also by a schedule", output)
        checks.that(fabric.close(), "nothing is left of the fabric with a schedule")
    checks.end()


main()
