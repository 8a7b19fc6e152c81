// SPDX-License-Identifier: BSD-3-Clause
// What there is in this system before any context: components, devices, capabilities, settings.
#include "ucp/context.h"
#include "ucp/dump.h"
#include "ucp/dump_writer.h"

#include <ufx/ucs.h>
#include <ufx/uct.h>

#include <iterator>
#include <memory>

namespace ufx::ucp {

namespace {

constexpr const char *cap_names[] = {"am_short",       "am_bcopy",       "am_zcopy",
                                     "put_short",      "put_bcopy",      "put_zcopy",
                                     "get_short",      "get_bcopy",      "get_zcopy",
                                     "atomic32_post",  "atomic64_post",  "atomic32_fetch",
                                     "atomic64_fetch", "atomic32_cswap", "atomic64_cswap",
                                     "pending",        "flush",          "fence",
                                     "check",          "connect_to_ep",  "connect_to_iface",
                                     "event_fd",       "invalidate",     "tokens",
                                     "purge",          "set_link",       "completion_is_delivery",
                                     "am_dup",         "atomic_device",  "ordered"};
static_assert(1ull << (std::size(cap_names) - 1) == UFX_UCT_CAP_ORDERED);

std::string caps_text(std::uint64_t caps)
{
    std::string text;
    for (std::size_t i = 0; i < std::size(cap_names); ++i) {
        if ((caps >> i & 1) != 0) {
            text += (text.empty() ? "" : " ") + std::string(cap_names[i]);
        }
    }
    return text;
}

void write_limits(dump_writer &out, const char *name, const ufx_uct_op_limits_t &l)
{
    out.begin_object(name);
    out.field("max_short", l.max_short);
    out.field("max_bcopy", l.max_bcopy);
    out.field("min_zcopy", l.min_zcopy);
    out.field("max_zcopy", l.max_zcopy);
    out.field("max_iov", l.max_iov);
    out.end_object();
}

void write_attr(dump_writer &out, const ufx_uct_iface_attr_t &a)
{
    out.field("caps", caps_text(a.caps));
    write_limits(out, "am", a.am);
    write_limits(out, "put", a.put);
    write_limits(out, "get", a.get);
    out.field("latency_ns", a.latency_ns);
    out.field("overhead_ns", a.overhead_ns);
    out.field("bandwidth_mb", static_cast<std::uint64_t>(a.bandwidth / 1e6));
    out.field("put_granularity", a.mtu);
    out.field("max_outstanding", a.max_outstanding);
    out.field("priority", a.priority);
    out.field("port_active", a.port_active != 0);
}

const char *type_name(ufx_uct_device_type_t type)
{
    return type == UFX_UCT_DEVICE_NET ? "network" : (type == UFX_UCT_DEVICE_SHM ? "shm" : "self");
}

void write_resource(dump_writer &out, ufx_uct_md_h md, const ufx_uct_resource_t &resource)
{
    out.begin_object();
    out.field("transport", resource.tl_name);
    out.field("device", resource.dev_name);
    out.field("type", type_name(resource.dev_type));
    out.field("numa_node", resource.numa_node);
    ufx_uct_iface_params_t params{};
    params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME;
    params.tl_name = resource.tl_name;
    params.dev_name = resource.dev_name;
    ufx_uct_iface_h iface = nullptr;
    const ufx_status_t opened = ufx_uct_iface_open(md, &params, &iface);
    ufx_uct_iface_attr_t attr{};
    if (opened == UFX_OK && ufx_uct_iface_query(iface, &attr) == UFX_OK) {
        write_attr(out, attr);
    } else {
        out.field("error", ufx_ucs_status_string(opened));
    }
    if (opened == UFX_OK) {
        ufx_uct_iface_close(iface);
    }
    out.end_object();
}

void write_md(dump_writer &out, const ufx_uct_component_t &component, const char *name)
{
    out.begin_object();
    out.field("name", name);
    const auto domain = memory_domain::open(component, name, {});
    if (!domain) {
        out.field("error", ufx_ucs_status_string(domain.error()));
    } else {
        out.field("rkey_bytes", domain->attr().rkey_packed_size);
        out.begin_list("devices");
        for (const ufx_uct_resource_t &resource : resources_of(domain->handle())) {
            write_resource(out, domain->handle(), resource);
        }
        out.end_list();
    }
    out.end_object();
}

template <class F>
void for_each_component(F &&f)
{
    const ufx_uct_component_t **list = nullptr;
    std::size_t count = 0;
    if (ufx_uct_query_components(&list, &count) != UFX_OK) {
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        f(*list[i]);
    }
    ufx_uct_release_component_list(list);
}

} // namespace

std::string dump_system(ufx_ucp_dump_format_t format)
{
    dump_writer out(format);
    out.begin_list("components");
    for_each_component([&](const ufx_uct_component_t &component) {
        out.begin_object();
        out.field("component", component.name);
        out.begin_list("memory_domains");
        for (const ufx_uct_md_resource_t &md : mds_of(component)) {
            write_md(out, component, md.md_name);
        }
        out.end_list();
        out.end_object();
    });
    out.end_list();
    return out.take();
}

void declare_component_config()
{
    for_each_component([](const ufx_uct_component_t &component) {
        std::size_t count = 0;
        const ufx_uct_config_row_t *rows =
            component.config_rows != nullptr ? component.config_rows(&count) : nullptr;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string name = std::string("UFX_") + rows[i].name;
            const ufx_ucs_config_row_t row{sizeof(row), name.c_str(), "", rows[i].default_value,
                                           rows[i].help};
            (void)ufx_ucs_config_register(component.name, &row);
        }
    });
}

} // namespace ufx::ucp
