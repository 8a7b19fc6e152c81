// SPDX-License-Identifier: BSD-3-Clause
// What the memory domains of all transports share, and the component made from an md class.
#ifndef UFX_UCT_BASE_MD_BASE_H
#define UFX_UCT_BASE_MD_BASE_H

#include "make_ops.h"

#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct_ops.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace ufx::uct {

// Checks what every md of host memory refuses. OK: address, length and flags are usable.
// `more_flags` are those that this md knows beside rights.
[[nodiscard]] ufx_status_t check_host_memory(const ufx_uct_mem_params_t &params,
                                             bool address_needed, uint64_t more_flags = 0) noexcept;

[[nodiscard]] inline uint64_t access_flags(const ufx_uct_mem_params_t &params) noexcept
{
    const bool given = (params.field_mask & UFX_UCT_MEM_PARAM_FLAGS) != 0;
    return given ? params.flags : uint64_t{UFX_UCT_MEM_ACCESS_ALL};
}

// Page-aligned zeroed memory for mem_alloc; `length` is rounded up to pages. NULL if there is none.
[[nodiscard]] void *allocate_pages(size_t &length) noexcept;
void free_pages(void *address, size_t length) noexcept;

// Answers a list query: `count` in is the room, out is how many there are.
template <class T>
[[nodiscard]] ufx_status_t give_list(std::span<const T> all, T *out, size_t *count) noexcept
{
    const size_t room = *count;
    *count = all.size();
    if (out == nullptr) {
        return UFX_OK;
    }
    if (room < all.size()) {
        return UFX_ERR_BUFFER_TOO_SMALL;
    }
    for (const T &item : all) {
        *out++ = item;
    }
    return UFX_OK;
}

// Copies a name into a fixed field, cut if it is too long.
template <size_t Size>
void set_name(char (&to)[Size], std::string_view name) noexcept
{
    const size_t length = name.size() < Size ? name.size() : Size - 1;
    std::memcpy(to, name.data(), length);
    to[length] = '\0';
}

// A transport derives `class my_md : public md_base<my_md>` and gives
//   static ufx_status_t query_md_resources(ufx_uct_md_resource_t *, size_t *)
//   static ucs::result<ucs::owner<my_md>> open(const char *md_name, const ufx_uct_md_params_t &)
//   static const ufx_uct_config_row_t *config_rows(size_t *count) noexcept
//   ucs::result<ucs::owner<my_iface>> open_iface(const ufx_uct_iface_params_t &)
// and the slots of its own (query, query_resources, mem_reg, ...).
template <class Md>
class md_base : public ufx_uct_md {
public:
    md_base(const md_base &) = delete;
    md_base &operator=(const md_base &) = delete;

    void close() noexcept { delete static_cast<Md *>(this); }

    ufx_status_t iface_open(const ufx_uct_iface_params_t *params, ufx_uct_iface_h *iface)
    {
        constexpr uint64_t required = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME;
        if (params == nullptr || (params->field_mask & required) != required ||
            params->tl_name == nullptr || params->dev_name == nullptr) {
            return UFX_ERR_INVALID_PARAM;
        }
        auto opened = static_cast<Md *>(this)->open_iface(*params);
        if (!opened) {
            return opened.error();
        }
        *iface = std::move(opened).value().release();
        return UFX_OK;
    }

protected:
    explicit md_base(const ufx_uct_component_t &component) noexcept;
    ~md_base() = default;
};

template <class Md>
inline constexpr ufx_uct_md_ops_t md_ops = make_md_ops<Md>();

template <class Md>
md_base<Md>::md_base(const ufx_uct_component_t &component) noexcept
    : ufx_uct_md{&md_ops<Md>, &component}
{
}

// The component of an md class.
template <class Md>
consteval ufx_uct_component_t make_component(const char *name) noexcept
{
    return {
        .size = sizeof(ufx_uct_component_t),
        .name = name,
        .query_md_resources = [](ufx_uct_md_resource_t *resources,
                                 size_t *count) noexcept -> ufx_status_t {
            return ucs::guard([&] { return Md::query_md_resources(resources, count); });
        },
        .md_open = [](const char *md_name, const ufx_uct_md_params_t *params,
                      ufx_uct_md_h *md) noexcept -> ufx_status_t {
            static constexpr ufx_uct_md_params_t none{};
            return ucs::guard([&]() -> ufx_status_t {
                auto opened = Md::open(md_name, params == nullptr ? none : *params);
                if (!opened) {
                    return opened.error();
                }
                *md = std::move(opened).value().release();
                return UFX_OK;
            });
        },
        .config_rows = Md::config_rows,
    };
}

} // namespace ufx::uct

#endif
