// SPDX-License-Identifier: BSD-3-Clause
// The tree that programs take for the sysfs and /dev/infiniband, below the fabric's directory.
#ifndef UFX_SWHCA_TOOL_SYSFS_TREE_H
#define UFX_SWHCA_TOOL_SYSFS_TREE_H

#include "swhca/fabric/image.h"

#include <filesystem>

namespace ufx::swhca::tool {

// Notes the directory in the image. Throws std::filesystem::filesystem_error or std::runtime_error.
void write_sysfs_tree(const std::filesystem::path &directory, image &shared);

} // namespace ufx::swhca::tool

#endif
