// SPDX-License-Identifier: BSD-3-Clause
// Finding and loading of modules, which stay loaded until the process ends.
#ifndef UFX_UCS_MODULE_H
#define UFX_UCS_MODULE_H

#include "result.h"

#include <string>
#include <string_view>
#include <vector>

namespace ufx::ucs {

// Folders to search, in order: `ufx/` beside the library that contains `anchor`, that library's
// own folder, UFX_MODULE_DIR, the folders of UFX_PLUGIN_PATH.
[[nodiscard]] std::vector<std::string> module_folders(const void *anchor);

// Files in `folders` named `prefix`*`suffix`, by folder and then by name. Of equal file names only
// the first is given.
[[nodiscard]] std::vector<std::string> find_modules(const std::vector<std::string> &folders,
                                                    std::string_view prefix,
                                                    std::string_view suffix);

// Loads a file and gives the address of one of its symbols. When that fails, one WARN line has
// the reason and nothing else has changed.
[[nodiscard]] result<void *> load_module(const std::string &path, const char *symbol);

} // namespace ufx::ucs

#endif
