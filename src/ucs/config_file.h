// SPDX-License-Identifier: BSD-3-Clause
// Parser of ufx.conf: lines `UFX_NAME = value`, comments after `#` at the start of a line.
#ifndef UFX_UCS_CONFIG_FILE_H
#define UFX_UCS_CONFIG_FILE_H

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ufx::ucs {

struct config_file {
    std::map<std::string, std::string> values; // full name to text; the last line of a name wins
    std::vector<std::string> faults;           // one clause for each line that was left out
};

// Takes any bytes.
[[nodiscard]] config_file parse_config_file(std::string_view text);

// Reads and parses a file of at most 1 MB. If that fails, there is one fault and no value.
[[nodiscard]] config_file load_config_file(const char *path);

} // namespace ufx::ucs

#endif
