// SPDX-License-Identifier: BSD-3-Clause
// The tree that programs take for the sysfs and /dev/infiniband, below the fabric's directory.
#ifndef UFX_SWHCA_TOOL_SYSFS_TREE_H
#define UFX_SWHCA_TOOL_SYSFS_TREE_H

#include "swhca/fabric/image.h"

#include <filesystem>

namespace ufx::swhca::tool {

// Throws std::filesystem::filesystem_error or std::runtime_error.
void write_sysfs_tree(const std::filesystem::path &directory, const image &shared);

// Writes again what a fault may have changed: state, LID, P_Keys and GIDs of a port.
void update_port_files(const std::filesystem::path &directory, const image &shared, uint32_t hca);

} // namespace ufx::swhca::tool

#endif
