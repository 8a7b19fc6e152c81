// SPDX-License-Identifier: BSD-3-Clause
// The files of a port in the tree that programs take for the sysfs.
#ifndef UFX_SWHCA_FABRIC_PORT_FILES_H
#define UFX_SWHCA_FABRIC_PORT_FILES_H

#include "image.h"

namespace ufx::swhca {

// The folder of a device below the fabric's directory, "%u" being its number, twice.
inline constexpr const char *hca_folder =
    "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:%02x.0/infiniband/mlx5_%u";

// Writes what a fault may change: state, LID, P_Keys and GIDs. Folders must be there; where the
// image has no directory, nothing is done. A reader sees the old text or the new one.
void write_port_files(const image &shared, uint32_t hca) noexcept;

} // namespace ufx::swhca

#endif
