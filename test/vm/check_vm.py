#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rc_verbs on the kernel's soft-RoCE, in a guest of QEMU: conformance, and real faults.

    check_vm.py [CATCH2 FILTER ...]      with a filter the conformance suite is left out

The guest runs a stock kernel of Debian and sees this machine's files read-only, so it runs what was
built here. It needs no KVM. Packages: contrib/install-deps vm; the kernel is unpacked, not installed.
"""

import glob
import gzip
import os
import shutil
import subprocess
import sys

TOP = os.path.realpath(os.environ.get("UFX_TEST_SRCDIR",
                                      os.path.join(os.path.dirname(__file__), "../..")))
BUILD = os.path.realpath(os.environ.get("UFX_TEST_BUILDDIR", os.path.join(TOP, "build")))
HERE = os.path.join(TOP, "test/vm")
WORK = os.path.join(BUILD, "vm")
LIMIT_S = int(os.environ.get("UFX_VM_TIMEOUT", "1200"))
EARLY = ("virtio_pci", "9pnet_virtio", "9p", "overlay")  # before the root is there
LATE = ("ib_uverbs", "crc32_generic", "rdma_rxe", "veth", "sch_netem")


def skip(reason):
    print(reason)
    sys.exit(77)


def run(*words, **how):
    return subprocess.run(words, check=True, text=True, **how)


def unpacked_kernel():
    """Folder with boot/ and lib/modules/ of one kernel, from a package if it is not there."""
    folder = os.path.join(WORK, "kernel")
    if not glob.glob(os.path.join(folder, "boot/vmlinuz-*")):
        asked = subprocess.run(("apt-cache", "depends", "linux-image-amd64"), text=True,
                               capture_output=True, check=False).stdout
        names = [word for word in asked.split() if word.startswith("linux-image-")][1:]
        if not names:
            skip("no package linux-image-amd64 (apt-get update?)")
        download = os.path.join(WORK, "download")
        os.makedirs(download, exist_ok=True)
        got = subprocess.run(("apt-get", "download", "-qq", names[0]), cwd=download, text=True,
                             capture_output=True, check=False)
        packages = glob.glob(os.path.join(download, "*.deb"))
        if got.returncode != 0 or not packages:
            skip(f"{names[0]} cannot be downloaded: {got.stderr.strip()[-200:]}")
        run("dpkg", "-x", packages[0], folder)
        shutil.rmtree(download)
    version = os.listdir(os.path.join(folder, "lib/modules"))[0]
    run("depmod", "-b", folder, version)
    return folder, version


def modules(folder, version, names):
    """Files of the modules and of what they need, in the order of loading."""
    files = []
    for name in names:
        shown = run("modprobe", "-d", folder, "-S", version, "--show-depends", name,
                    capture_output=True).stdout
        for line in shown.splitlines():
            words = line.split()
            if words[0] == "insmod" and words[1] not in files:
                files.append(words[1])
    return files


def initramfs(folder, version):
    root = os.path.join(WORK, "initramfs")
    shutil.rmtree(root, ignore_errors=True)
    for each in ("bin", "proc", "sys", "dev", "modules.d"):
        os.makedirs(os.path.join(root, each))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin/busybox"))
    shutil.copy(os.path.join(HERE, "guest_init.sh"), os.path.join(root, "init"))
    with open(os.path.join(root, "modules"), "w", encoding="ascii") as order:
        for number, file in enumerate(modules(folder, version, EARLY)):
            name = f"/modules.d/{number}.ko"
            shutil.copy(file, root + name)
            order.write(name + "\n")
    names = "\n".join(os.path.relpath(os.path.join(at, each), root)
                      for at, folders, files in os.walk(root) for each in folders + files)
    packed = subprocess.run(("cpio", "-o", "-H", "newc", "--quiet"), input=names.encode(), cwd=root,
                            stdout=subprocess.PIPE, check=True).stdout
    image = os.path.join(WORK, "initramfs.gz")
    with gzip.open(image, "wb", compresslevel=1) as out:
        out.write(packed)
    return image


def boot(folder, version, filters):
    out = os.path.join(WORK, "out")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    shutil.copy(os.path.join(HERE, "guest.sh"), out)
    with open(os.path.join(out, "settings"), "w", encoding="utf-8") as settings:
        settings.write(f"BUILD='{BUILD}'\nFILTERS='{' '.join(filters)}'\n")
    with open(os.path.join(out, "modules.late"), "w", encoding="utf-8") as late:
        late.write("\n".join(modules(folder, version, LATE)) + "\n")
    share = "security_model=none,multidevs=remap"
    console = subprocess.run((
        "timeout", str(LIMIT_S), "qemu-system-x86_64", "-machine", "q35", "-accel",
        "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048", "-nodefaults",
        "-no-user-config", "-nographic", "-no-reboot", "-serial", "mon:stdio", "-kernel",
        os.path.join(folder, "boot", f"vmlinuz-{version}"), "-initrd", initramfs(folder, version),
        "-append", "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr tsc=reliable",
        "-fsdev", f"local,id=r,path=/,{share},readonly=on", "-device",
        "virtio-9p-pci,fsdev=r,mount_tag=hostroot", "-fsdev", f"local,id=o,path={out},{share}",
        "-device", "virtio-9p-pci,fsdev=o,mount_tag=out"), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return out, console


def text_of(name):
    if not os.path.exists(name):
        return ""
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read()


def main(filters):
    for program in ("qemu-system-x86_64", "cpio", "busybox", "depmod", "dpkg", "apt-get"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed (contrib/install-deps vm)")
    if not os.path.exists(os.path.join(BUILD, "test_ib")):
        skip("test_ib was not built")
    os.makedirs(WORK, exist_ok=True)
    folder, version = unpacked_kernel()
    out, console = boot(folder, version, filters)
    results = text_of(os.path.join(out, "results"))
    if "UFX_TEST_RESULTS" in os.environ:
        with open(os.environ["UFX_TEST_RESULTS"], "a", encoding="utf-8") as all_results:
            all_results.write(results)
    status = text_of(os.path.join(out, "status")).strip()
    if status != "0":
        print(text_of(os.path.join(out, "log"))[-8000:])
        print(console.stdout[-4000:])
        print(f"the guest ended with {status or 'nothing'}, qemu with {console.returncode}")
        sys.exit(1)
    print(f"{results.count(':test-result: PASS')} cases passed on Linux {version}")


if __name__ == "__main__":
    main(sys.argv[1:])
