// SPDX-License-Identifier: BSD-3-Clause
// Settings that are given when a memory domain is opened.
#include <ufx/uct.h>

#include "ucs/log_capture.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

namespace {

const ufx_uct_component_t *find_component(const char *name)
{
    const ufx_uct_component_t **all = nullptr;
    size_t count = 0;
    REQUIRE(ufx_uct_query_components(&all, &count) == UFX_OK);
    const ufx_uct_component_t *found = nullptr;
    for (size_t i = 0; i < count; i++) {
        found = std::strcmp(all[i]->name, name) == 0 ? all[i] : found;
    }
    ufx_uct_release_component_list(all);
    return found;
}

// Opened with one setting and closed again.
ufx_status_t open_with(const ufx_uct_component_t *component, const char *md_name,
                       const std::string &name, const char *value)
{
    const ufx_uct_config_entry_t entry{name.c_str(), value};
    ufx_uct_md_params_t params{};
    params.field_mask = UFX_UCT_MD_PARAM_CONFIG;
    params.config = &entry;
    params.config_count = 1;
    ufx_uct_md_h md = nullptr;
    const ufx_status_t status = ufx_uct_md_open(component, md_name, &params, &md);
    if (status == UFX_OK) {
        ufx_uct_md_close(md);
    }
    return status;
}

} // namespace

TEST_CASE("uct: a memory domain refuses settings that its component does not have")
{
    struct known {
        const char *component;
        const char *md;
        const char *prefix;
        const char *setting;
    };
    const known all[] = {{"self", "self", "SELF_", "SEG_SIZE"},
                         {"tcp", "tcp", "TCP_", "SEG_SIZE"},
                         {"ib", "mlx5_0", "IB_", "REG_CACHE_ENTRIES"},
                         {"ib", "mlx5_0", "RC_MLX5_", "SEG_SIZE"},
                         {"ib", "mlx5_0", "RC_VERBS_", "SEG_SIZE"}};
    for (const known &each : all) {
        const ufx_uct_component_t *component = find_component(each.component);
        if (component == nullptr ||
            open_with(component, each.md, "OTHERS_SETTING", "1") == UFX_ERR_NO_DEVICE) {
            continue; // no such device here
        }
        const std::string prefix = each.prefix;
        INFO(prefix);
        CHECK(open_with(component, each.md, "OTHERS_SETTING", "1") == UFX_OK);
        CHECK(open_with(component, each.md, prefix + each.setting, "2000") == UFX_OK);
        const ufx::ucs::log_capture log;
        CHECK(open_with(component, each.md, prefix + "NO_SUCH", "1") == UFX_ERR_INVALID_PARAM);
        CHECK(log.count(UFX_UCS_LOG_WARN, prefix + "NO_SUCH") == 1);
        CHECK(open_with(component, each.md, prefix + each.setting, "many") ==
              UFX_ERR_INVALID_PARAM);
    }
}
