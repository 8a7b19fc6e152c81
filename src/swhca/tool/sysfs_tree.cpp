// SPDX-License-Identifier: BSD-3-Clause
// Files of a ConnectX-5 as mlx5_core and mlx5_ib show them. Devices lie below a PCI root, and the
// entries of the classes are links to them, since programs look for the PCI device behind a link.
#include "sysfs_tree.h"

#include "failure.h"

#include "swhca/fabric/port_files.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <infiniband/verbs.h>
#include <string>

namespace ufx::swhca::tool {

namespace fs = std::filesystem;

namespace {

std::string format(const char *text, ...) __attribute__((format(printf, 1, 2)));

std::string format(const char *text, ...)
{
    char room[256];
    std::va_list rest;
    va_start(rest, text);
    std::vsnprintf(room, sizeof(room), text, rest);
    va_end(rest);
    return room;
}

void put(const fs::path &file, const std::string &text)
{
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::trunc);
    out << text << '\n';
    if (!out.flush()) {
        throw failure(fabric_status, "cannot write " + file.string());
    }
}

std::string guid_text(uint64_t guid)
{
    return format("%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48 & 0xffff),
                  static_cast<unsigned>(guid >> 32 & 0xffff),
                  static_cast<unsigned>(guid >> 16 & 0xffff), static_cast<unsigned>(guid & 0xffff));
}

void write_pci_files(const fs::path &pci, uint32_t index)
{
    put(pci / "vendor", "0x15b3");
    put(pci / "device", "0x1019");
    put(pci / "subsystem_vendor", "0x15b3");
    put(pci / "subsystem_device", "0x0008");
    put(pci / "class", "0x020700");
    put(pci / "revision", "0x00");
    put(pci / "numa_node", "-1");
    put(pci / "local_cpus", "ffffffff");
    put(pci / "current_link_speed", "16.0 GT/s PCIe");
    put(pci / "current_link_width", "16");
    put(pci / "modalias", "pci:v000015B3d00001019sv000015B3sd00000008bc02sc07i00");
    put(pci / "uevent", format("DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:3b:%02x.0", index));
}

void write_device_files(const fs::path &device, const hca &one, uint32_t index)
{
    put(device / "node_type", "1: CA");
    put(device / "node_guid", guid_text(one.guid));
    put(device / "sys_image_guid", guid_text(one.guid));
    put(device / "fw_ver", "22.38.1000");
    put(device / "hca_type", "MT4121");
    put(device / "hw_rev", "0");
    put(device / "board_id", "UFX0000000001");
    put(device / "node_desc", format("software ConnectX %u", index));
}

// What no fault changes; the rest is fabric/port_files.h.
void make_port_folder(const fs::path &at, const port &one)
{
    bool ethernet = one.link_layer == IBV_LINK_LAYER_ETHERNET;
    put(at / "link_layer", ethernet ? "Ethernet" : "InfiniBand");
    put(at / "rate", "100 Gb/sec (4X EDR)");
    put(at / "lid_mask_count", "0");
    put(at / "sm_lid", "0x0");
    put(at / "sm_sl", "0");
    put(at / "cap_mask", "0x04010000");
    for (const char *folder : {"pkeys", "gids", "gid_attrs/types", "gid_attrs/ndevs"}) {
        fs::create_directories(at / folder);
    }
    for (uint32_t i = 0; i < max_gids; i++) {
        put(at / "gid_attrs/types" / std::to_string(i), ethernet ? "RoCE v2" : "IB/RoCE v1");
    }
}

fs::path pci_path(uint32_t index)
{
    return fs::path("devices/pci0000:3a/0000:3a:00.0") / format("0000:3b:%02x.0", index);
}

} // namespace

void write_sysfs_tree(const fs::path &directory, image &shared)
{
    std::string where = directory.string();
    if (where.size() >= sizeof(shared.directory)) {
        throw failure(fabric_status, "the path " + where + " is too long");
    }
    std::copy(where.begin(), where.end(), shared.directory);
    fs::path sys = directory / "sys";
    fs::path up("../..");
    put(sys / "class/infiniband_verbs/abi_version", "6");
    put(sys / "class/infiniband_mad/abi_version", "5"); // there are none, but programs ask
    fs::create_directories(sys / "class/infiniband");
    fs::create_directories(directory / "dev/infiniband");
    for (uint32_t i = shared.hca_count; i-- > 0;) { // a tmpfs lists the newest first
        fs::path pci = pci_path(i);
        std::string name = format("mlx5_%u", i);
        std::string verbs = format("uverbs%u", i);
        write_pci_files(sys / pci, i);
        write_device_files(sys / pci / "infiniband" / name, shared.hcas[i], i);
        make_port_folder(sys / pci / "infiniband" / name / "ports/1", shared.hcas[i].port);
        write_port_files(shared, i);
        put(sys / pci / "infiniband_verbs" / verbs / "ibdev", name);
        put(sys / pci / "infiniband_verbs" / verbs / "dev", "1:3"); // what /dev/null is
        put(sys / pci / "infiniband_verbs" / verbs / "abi_version", "1");
        fs::create_symlink("../..", sys / pci / "infiniband" / name / "device");
        fs::create_symlink("../..", sys / pci / "infiniband_verbs" / verbs / "device");
        fs::create_symlink(up / pci / "infiniband" / name, sys / "class/infiniband" / name);
        fs::create_symlink(up / pci / "infiniband_verbs" / verbs,
                           sys / "class/infiniband_verbs" / verbs);
        fs::create_symlink("/dev/null", directory / "dev/infiniband" / verbs);
    }
}

} // namespace ufx::swhca::tool
