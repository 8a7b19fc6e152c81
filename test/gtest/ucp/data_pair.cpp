// SPDX-License-Identifier: BSD-3-Clause
// Setting up and taking down two workers that talk to each other.
#include "data_pair.h"

namespace ufx::test {

namespace {

void on_event(void *arg, ufx_ucp_ep_h, const ufx_ucp_ep_event_t *event) noexcept
{
    auto &s = *static_cast<side *>(arg);
    s.events.push_back(*event);
    s.event_texts.emplace_back(event->text != nullptr ? event->text : "");
}

void on_accept(void *arg, ufx_ucp_ep_h ep) noexcept
{
    auto &s = *static_cast<side *>(arg);
    s.ep = ep;
    (void)ufx_ucp_ep_set_event_cb(ep, on_event, arg);
}

} // namespace

void fill(std::byte *to, std::size_t length, unsigned seed)
{
    for (std::size_t i = 0; i < length; ++i) {
        to[i] = pattern(i, seed);
    }
}

std::size_t first_difference(const std::byte *from, std::size_t length, unsigned seed)
{
    for (std::size_t i = 0; i < length; ++i) {
        if (from[i] != pattern(i, seed)) {
            return i;
        }
    }
    return length;
}

void pair::open(side &s, const pair_options &options)
{
    ufx_ucp_context_params_t cp{};
    cp.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES | UFX_UCP_CONTEXT_PARAM_CONFIG;
    cp.devices = options.devices.c_str();
    cp.config = options.config.data();
    cp.config_count = options.config.size();
    if (s.context == nullptr) {
        REQUIRE(ufx_ucp_context_create(&cp, &s.context) == UFX_OK);
    }

    ufx_ucp_worker_params_t wp{};
    wp.field_mask = UFX_UCP_WORKER_PARAM_THREAD_MODE | UFX_UCP_WORKER_PARAM_EP_ACCEPT;
    wp.thread_mode = options.threads;
    wp.ep_accept_cb = on_accept;
    wp.ep_accept_arg = &s;
    REQUIRE(ufx_ucp_worker_create(s.context, &wp, &s.worker) == UFX_OK);

    ufx_ucp_mem_params_t mp{};
    mp.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
    mp.length = options.memory_size;
    mp.flags = UFX_UCP_MEM_ALLOCATE | UFX_UCP_MEM_REMOTE_WRITE | UFX_UCP_MEM_REMOTE_READ |
               UFX_UCP_MEM_REMOTE_ATOMIC;
    REQUIRE(ufx_ucp_mem_map(s.context, &mp, &s.mem) == UFX_OK);
    void *address = nullptr;
    REQUIRE(ufx_ucp_mem_query(s.mem, &address, &s.memory_size) == UFX_OK);
    s.memory = static_cast<std::byte *>(address);
}

void pair::share(side &owner, side &user)
{
    void *packed = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_rkey_pack(owner.context, owner.mem, &packed, &length) == UFX_OK);
    REQUIRE(ufx_ucp_ep_rkey_unpack(user.ep, packed, length, &user.peer_key) == UFX_OK);
    ufx_ucp_rkey_buffer_release(packed);
    user.peer_addr = reinterpret_cast<std::uintptr_t>(owner.memory);
}

pair::pair(const pair_options &options)
{
    open(a, options);
    b.context = options.one_context ? a.context : nullptr;
    open(b, options);
    void *address = nullptr;
    std::size_t length = 0;
    REQUIRE(ufx_ucp_worker_get_address(b.worker, &address, &length) == UFX_OK);
    ufx_ucp_ep_params_t ep{};
    ep.field_mask = UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_EVENT_CB |
                    UFX_UCP_EP_PARAM_ERROR_MODE | UFX_UCP_EP_PARAM_FLAGS;
    ep.address = address;
    ep.address_length = length;
    ep.event_cb = on_event;
    ep.event_arg = &a;
    ep.error_mode = options.error_mode;
    ep.flags = options.ep_flags;
    REQUIRE(ufx_ucp_ep_create(a.worker, &ep, &a.ep) == UFX_OK);
    ufx_ucp_worker_release_address(b.worker, address);
    REQUIRE(until([&] { return b.ep != nullptr && all_lanes_live(); }));
    share(b, a);
    share(a, b);
}

void pair::close(side &s)
{
    if (s.peer_key != nullptr) {
        ufx_ucp_rkey_destroy(s.peer_key);
    }
    if (s.worker != nullptr) {
        ufx_ucp_worker_destroy(s.worker);
    }
    (void)ufx_ucp_mem_unmap(s.context, s.mem);
}

pair::~pair()
{
    close(a);
    close(b);
    ufx_ucp_context_destroy(a.context);
    if (b.context != a.context) {
        ufx_ucp_context_destroy(b.context);
    }
}

void pair::progress()
{
    for (const side *s : {&a, &b}) {
        if (s->worker != nullptr) {
            (void)ufx_ucp_worker_progress(s->worker);
        }
    }
}

bool pair::until(const std::function<bool()> &what, std::chrono::seconds limit)
{
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!what()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        progress();
    }
    return true;
}

bool pair::all_lanes_live()
{
    for (const side *s : {&a, &b}) {
        if (s->ep == nullptr) {
            return false;
        }
        ufx_ucp_ep_attr_t attr{};
        attr.field_mask = UFX_UCP_EP_ATTR_LANES;
        if (ufx_ucp_ep_query(s->ep, &attr) != UFX_OK || attr.lanes == 0 ||
            attr.lanes_live != attr.lanes) {
            return false;
        }
    }
    return true;
}

void pair::set_link(side &at, const char *rail, bool up)
{
    REQUIRE(ufx_ucp_rail_set_link(at.worker, rail, up ? 1 : 0) == UFX_OK);
}

ufx_ucp_failover_stats_t pair::failover(const side &at) const
{
    ufx_ucp_failover_stats_t stats{};
    REQUIRE(ufx_ucp_worker_query_failover(at.worker, &stats) == UFX_OK);
    return stats;
}

} // namespace ufx::test
