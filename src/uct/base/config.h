// SPDX-License-Identifier: BSD-3-Clause
// Settings of a transport: from environment and file, overruled by entries given in code.
#ifndef UFX_UCT_BASE_CONFIG_H
#define UFX_UCT_BASE_CONFIG_H

#include "ucs/config.h"
#include "ucs/log.h"
#include "ucs/result.h"

#include <ufx/uct_types.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ufx::uct {

// Reads one text into `object`; false with one WARN line if the row does not allow it.
[[nodiscard]] bool store_text(const ucs::config_row &row, const ufx_uct_config_entry_t &entry,
                              void *object);

// Entries of `params` (md or iface), empty if the field is not set.
template <class Params>
[[nodiscard]] std::span<const ufx_uct_config_entry_t> config_entries(const Params &params,
                                                                     uint64_t field) noexcept
{
    if ((params.field_mask & field) == 0 || params.config == nullptr) {
        return {};
    }
    return {params.config, params.config_count};
}

// `prefix` is the table's, such as "TCP_"; entries of other prefixes are somebody else's.
// INVALID_PARAM: an entry of this prefix has no row, or its value is refused.
template <class C>
[[nodiscard]] ucs::result<C> load_config(const ucs::config_table<C> &table, std::string_view prefix,
                                         std::span<const ufx_uct_config_entry_t> entries)
{
    C config = table.load();
    for (const ufx_uct_config_entry_t &entry : entries) {
        std::string_view name = entry.name;
        if (!name.starts_with(prefix)) {
            continue;
        }
        name.remove_prefix(prefix.size());
        bool stored = false;
        for (const ucs::config_option<C> &option : table.rows()) {
            if (name == option.row.name) {
                if (!store_text(option.row, entry, &config)) {
                    return UFX_ERR_INVALID_PARAM;
                }
                stored = true;
            }
        }
        if (!stored) {
            ufx_warn("there is no setting %s", entry.name);
            return UFX_ERR_INVALID_PARAM;
        }
    }
    return config;
}

// The rows of a table for ufx_uct_component::config_rows; made once, never freed. The help ends
// with type and range, for which the C struct has no word of its own.
class config_row_list {
public:
    template <class C>
    config_row_list(const ucs::config_table<C> &table, std::string_view prefix)
    {
        names_.reserve(table.rows().size());
        helps_.reserve(table.rows().size());
        for (const ucs::config_option<C> &option : table.rows()) {
            names_.push_back(std::string(prefix) + option.row.name);
            helps_.push_back(std::string(option.row.help) + " (" +
                             ucs::describe_config_type(option.row) + ")");
            rows_.push_back(
                {names_.back().c_str(), option.row.default_value, helps_.back().c_str()});
        }
    }

    [[nodiscard]] const ufx_uct_config_row_t *give(size_t *count) const noexcept
    {
        *count = rows_.size();
        return rows_.data();
    }

private:
    std::vector<std::string> names_;
    std::vector<std::string> helps_;
    std::vector<ufx_uct_config_row_t> rows_;
};

} // namespace ufx::uct

#endif
