// SPDX-License-Identifier: BSD-3-Clause
// Component registry: explicit list, modules by search, C entry points.
#include "registry.h"

#include "builtin.h"

#include "ucs/entry.h"
#include "ucs/log.h"
#include "ucs/module.h"

#include <config.h> // UFX_TCP_MODULE

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace ufx::uct {

namespace {

// What modules get from this process; one that links libufx_ucs itself does not need it.
constexpr ufx_uct_host_t module_host = {
    .size = sizeof(ufx_uct_host_t),
    .log =
        [](int level, const char *file, int line, const char *message) {
            ufx_ucs_log(static_cast<ufx_ucs_log_level_t>(level), file, static_cast<unsigned>(line),
                        "%s", message);
        },
    .config = [](const char *name) -> const char * {
        try {
            return ufx_ucs_config_get((std::string("UFX_") + name).c_str(), nullptr);
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    },
    .time_ns = [] { return ufx_ucs_time_ns(); },
};

bool is_complete(const ufx_uct_component_t &component) noexcept
{
    return component.size >= sizeof(ufx_uct_component_t) && component.name != nullptr &&
           component.name[0] != '\0' && component.query_md_resources != nullptr &&
           component.md_open != nullptr && component.config_rows != nullptr;
}

} // namespace

registry &registry::instance()
{
    // Never destroyed: other libraries may still ask while the process ends.
    static registry *const the_one = ucs::owner_access::make<registry>().release();
    return *the_one;
}

registry::registry()
    : components_{
          &self_component,
#ifndef UFX_TCP_MODULE
          &tcp_component,
#endif
      }
{
}

std::vector<const ufx_uct_component_t *> registry::list()
{
    std::lock_guard lock(mutex_);
    load_modules();
    return components_;
}

const ufx_uct_component_t *registry::find(std::string_view name)
{
    std::lock_guard lock(mutex_);
    load_modules();
    return find_locked(name);
}

ufx_status_t registry::add(const ufx_uct_component_t &component)
{
    std::lock_guard lock(mutex_);
    return add_locked(component);
}

const ufx_uct_component_t *registry::find_locked(std::string_view name) const noexcept
{
    for (const ufx_uct_component_t *component : components_) {
        if (name == component->name) {
            return component;
        }
    }
    return nullptr;
}

ufx_status_t registry::add_locked(const ufx_uct_component_t &component)
{
    if (!is_complete(component)) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (find_locked(component.name) != nullptr) {
        return UFX_ERR_ALREADY_EXISTS;
    }
    components_.push_back(&component);
    return UFX_OK;
}

void registry::load_modules()
{
    if (modules_loaded_) {
        return;
    }
    modules_loaded_ = true;
    auto folders = ucs::module_folders(reinterpret_cast<const void *>(&registry::instance));
    for (const std::string &path : ucs::find_modules(folders, "libufx_uct_", ".so.0")) {
        load_module(path);
    }
}

// A module that cannot be used is one WARN line with the reason, and nothing else.
void registry::load_module(const std::string &path)
{
    auto symbol = ucs::load_module(path, UFX_UCT_MODULE_INIT);
    if (!symbol) {
        return; // it has said why
    }
    auto init = reinterpret_cast<ufx_uct_module_init_t>(*symbol);
    const ufx_uct_component_t *component = nullptr;
    ufx_status_t status = init(UFX_UCT_ABI_VERSION, &module_host, &component);
    if (status != UFX_OK) {
        ufx_warn("module %s: refuses ABI version %u: %s", path.c_str(), UFX_UCT_ABI_VERSION,
                 ufx_ucs_status_string(status));
        return;
    }
    if (component == nullptr) {
        ufx_warn("module %s: gives no component", path.c_str());
        return;
    }
    status = add_locked(*component);
    if (status == UFX_ERR_ALREADY_EXISTS) {
        ufx_warn("module %s: there is a component %s already", path.c_str(), component->name);
    } else if (status != UFX_OK) {
        ufx_warn("module %s: its component is not complete", path.c_str());
    } else {
        ufx_debug("module %s: component %s", path.c_str(), component->name);
    }
}

} // namespace ufx::uct

using ufx::uct::registry;

extern "C" ufx_status_t ufx_uct_query_components(const ufx_uct_component_t ***components,
                                                 size_t *count) noexcept
{
    return ufx::ucs::guard([&]() -> ufx_status_t {
        auto list = registry::instance().list();
        auto *copy = static_cast<const ufx_uct_component_t **>(
            std::calloc(list.size(), sizeof(const ufx_uct_component_t *)));
        if (copy == nullptr) {
            return UFX_ERR_NO_MEMORY;
        }
        std::copy(list.begin(), list.end(), copy);
        *components = copy;
        *count = list.size();
        return UFX_OK;
    });
}

extern "C" void ufx_uct_release_component_list(const ufx_uct_component_t **components) noexcept
{
    std::free(const_cast<ufx_uct_component_t **>(components));
}

extern "C" ufx_status_t ufx_uct_find_component(const char *name,
                                               const ufx_uct_component_t **component) noexcept
{
    if (name == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return ufx::ucs::guard([&]() -> ufx_status_t {
        const ufx_uct_component_t *found = registry::instance().find(name);
        if (found == nullptr) {
            return UFX_ERR_NO_ELEM;
        }
        *component = found;
        return UFX_OK;
    });
}

extern "C" ufx_status_t ufx_uct_register_component(const ufx_uct_component_t *component) noexcept
{
    if (component == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return ufx::ucs::guard([&] { return registry::instance().add(*component); });
}
