// SPDX-License-Identifier: BSD-3-Clause
// The components of this process: built-in ones, registered ones, and those of modules.
#ifndef UFX_UCT_BASE_REGISTRY_H
#define UFX_UCT_BASE_REGISTRY_H

#include "ucs/owner.h"

#include <ufx/uct.h>

#include <mutex>
#include <string_view>
#include <vector>

namespace ufx::uct {

// Any thread. Modules are loaded at the first look.
class registry {
public:
    // The one of this process.
    [[nodiscard]] static registry &instance();

    [[nodiscard]] std::vector<const ufx_uct_component_t *> list();
    [[nodiscard]] const ufx_uct_component_t *find(std::string_view name);

    // ALREADY_EXISTS if the name is taken; INVALID_PARAM if the component is not complete.
    [[nodiscard]] ufx_status_t add(const ufx_uct_component_t &component);

private:
    friend struct ucs::owner_access;
    registry();

    void load_modules();
    void load_module(const std::string &path);
    [[nodiscard]] ufx_status_t add_locked(const ufx_uct_component_t &component);
    [[nodiscard]] const ufx_uct_component_t *find_locked(std::string_view name) const noexcept;

    std::mutex mutex_; // guards all below
    std::vector<const ufx_uct_component_t *> components_;
    bool modules_loaded_ = false;
};

} // namespace ufx::uct

#endif
