// SPDX-License-Identifier: BSD-3-Clause
// Reads one setting that was given in code.
#include "config.h"

namespace ufx::uct {

bool store_text(const ucs::config_row &row, const ufx_uct_config_entry_t &entry, void *object)
{
    ucs::config_value value;
    std::string why;
    if (!ucs::parse_config_value(row, entry.value == nullptr ? "" : entry.value, value, why)) {
        ufx_warn("setting %s=%s: %s", entry.name, entry.value == nullptr ? "" : entry.value,
                 why.c_str());
        return false;
    }
    row.store(object, std::move(value));
    return true;
}

} // namespace ufx::uct
