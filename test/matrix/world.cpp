// SPDX-License-Identifier: BSD-3-Clause
// Setting up and taking down.
#include "world.h"

#include <array>
#include <chrono>
#include <stdexcept>

namespace ufx::matrix {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{60};

constexpr ufx_ucp_config_entry_t short_times[] = {
    {"RAIL_GRACE", "20ms"},
    {"RAIL_HOLDOFF", "10ms"},
    {"RAIL_HOLDOFF_MAX", "40ms"},
    {"RAIL_PENALTY_HALF_LIFE", "100ms"},
    {"STALL_MIN", "10ms"},
    {"PORT_POLL", "5ms"},
    {"PEER_TIMEOUT", "600s"},
    {"RNDV_THRESH", "128kb"},
    {"IB_TIMEOUT", "8"},
    {"IB_RETRY_COUNT", "2"},
};

// A rail that fails again and again stays out longer and longer: not here.
constexpr ufx_ucp_config_entry_t usual_times[] = {
    {"RAIL_PENALTY_HALF_LIFE", "100ms"},
};

void must(ufx_status_t status, const char *what)
{
    if (status != UFX_OK) {
        throw std::runtime_error(std::string(what) + ": " + ufx_ucs_status_string(status));
    }
}

void on_event(void *arg, ufx_ucp_ep_h, const ufx_ucp_ep_event_t *event) noexcept
{
    auto &s = *static_cast<side *>(arg);
    if (event->type == UFX_UCP_EP_EVENT_ERROR) {
        ++s.errors;
        s.error = event->text != nullptr ? event->text : "";
    }
}

void on_accept(void *arg, ufx_ucp_ep_h ep) noexcept
{
    static_cast<side *>(arg)->ep = ep;
    (void)ufx_ucp_ep_set_event_cb(ep, on_event, arg);
}

void on_done(void *arg, ufx_ucp_request_h, const ufx_ucp_completion_t *how) noexcept
{
    auto &self = *static_cast<waiter *>(arg);
    ++self.calls;
    self.status = how->status;
}

std::vector<ufx_ucp_rail_attr_t> rails_of(const side &s)
{
    std::array<ufx_ucp_rail_attr_t, UFX_UCP_RAILS_MAX> all{};
    std::size_t count = all.size();
    (void)ufx_ucp_worker_query_rails(s.worker, all.data(), &count);
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

} // namespace

waiter::waiter()
{
    params.field_mask = UFX_UCP_OP_PARAM_CB;
    params.cb = &on_done;
    params.cb_arg = this;
}

void waiter::posted(ufx_status_t answer)
{
    if (answer != UFX_INPROGRESS) {
        ++calls;
        status = answer;
    }
}

world::world(const std::string &senders_rails, const std::string &receivers_rails, times which)
{
    open(sender, senders_rails, which);
    open(receiver, receivers_rails, which);
    connect();
}

world::~world()
{
    for (side *each : {&sender, &receiver}) {
        close(*each);
    }
}

void world::open(side &s, const std::string &rails, times which)
{
    ufx_ucp_context_params_t context{};
    context.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES | UFX_UCP_CONTEXT_PARAM_CONFIG;
    context.devices = rails.c_str();
    context.config = which == times::SHORT ? short_times : usual_times;
    context.config_count =
        which == times::SHORT ? std::size(short_times) : std::size(usual_times);
    must(ufx_ucp_context_create(&context, &s.context), "context");
    ufx_ucp_worker_params_t worker{};
    worker.field_mask = UFX_UCP_WORKER_PARAM_EP_ACCEPT;
    worker.ep_accept_cb = on_accept;
    worker.ep_accept_arg = &s;
    must(ufx_ucp_worker_create(s.context, &worker, &s.worker), "worker");
    ufx_ucp_mem_params_t memory{};
    memory.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
    memory.length = memory_bytes;
    memory.flags = UFX_UCP_MEM_ALLOCATE | UFX_UCP_MEM_REMOTE_WRITE | UFX_UCP_MEM_REMOTE_READ |
                   UFX_UCP_MEM_REMOTE_ATOMIC;
    must(ufx_ucp_mem_map(s.context, &memory, &s.mem), "memory");
    void *address = nullptr;
    std::size_t length = 0;
    must(ufx_ucp_mem_query(s.mem, &address, &length), "memory");
    s.memory = static_cast<std::byte *>(address);
}

void world::share(side &owner, side &user)
{
    void *packed = nullptr;
    std::size_t length = 0;
    must(ufx_ucp_rkey_pack(owner.context, owner.mem, &packed, &length), "key");
    if (user.peer_key != nullptr) {
        ufx_ucp_rkey_destroy(user.peer_key);
        user.peer_key = nullptr;
    }
    const ufx_status_t status = ufx_ucp_ep_rkey_unpack(user.ep, packed, length, &user.peer_key);
    ufx_ucp_rkey_buffer_release(packed);
    must(status, "key");
    user.peer_address = reinterpret_cast<std::uintptr_t>(owner.memory);
}

ufx_ucp_ep_h world::make_ep()
{
    void *address = nullptr;
    std::size_t length = 0;
    must(ufx_ucp_worker_get_address(receiver.worker, &address, &length), "address");
    ufx_ucp_ep_params_t ep{};
    ep.field_mask = UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_EVENT_CB;
    ep.address = address;
    ep.address_length = length;
    ep.event_cb = on_event;
    ep.event_arg = &sender;
    ufx_ucp_ep_h made = nullptr;
    const ufx_status_t status = ufx_ucp_ep_create(sender.worker, &ep, &made);
    ufx_ucp_worker_release_address(receiver.worker, address);
    must(status, "endpoint");
    return made;
}

void world::connect()
{
    receiver.ep = nullptr;
    sender.ep = make_ep();
    if (!until([&] { return receiver.ep != nullptr && is_whole(); })) {
        throw std::runtime_error("the rails do not come up:\n" + state());
    }
    share(receiver, sender);
    share(sender, receiver);
}

void world::close(side &s)
{
    if (s.peer_key != nullptr) {
        ufx_ucp_rkey_destroy(s.peer_key);
    }
    if (s.worker != nullptr) {
        ufx_ucp_worker_destroy(s.worker);
    }
    if (s.mem != nullptr) {
        (void)ufx_ucp_mem_unmap(s.context, s.mem);
    }
    if (s.context != nullptr) {
        ufx_ucp_context_destroy(s.context);
    }
    s = {};
}

void world::progress()
{
    (void)ufx_ucp_worker_progress(sender.worker);
    (void)ufx_ucp_worker_progress(receiver.worker);
}

void world::progress_for(unsigned microseconds)
{
    const auto end = clock::now() + std::chrono::microseconds(microseconds);
    do {
        progress();
    } while (clock::now() < end);
}

bool world::until(const std::function<bool()> &what)
{
    const auto end = clock::now() + patience;
    while (!what()) {
        progress();
        if (clock::now() > end) {
            return false;
        }
    }
    return true;
}

bool world::is_whole() const
{
    for (const side *s : {&sender, &receiver}) {
        if (s->ep == nullptr) {
            return false;
        }
        for (const ufx_ucp_rail_attr_t &rail : rails_of(*s)) {
            if (rail.state != UFX_UCP_RAIL_UP) {
                return false;
            }
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

std::string world::state() const
{
    std::string text;
    for (const side *s : {&sender, &receiver}) {
        char *dump = nullptr;
        if (ufx_ucp_worker_dump(s->worker, UFX_UCP_DUMP_TEXT, &dump) == UFX_OK) {
            text += dump;
            ufx_ucp_dump_release(dump);
        }
        text += s->errors != 0 ? "the endpoint failed: " + s->error + "\n" : "";
    }
    return text;
}

} // namespace ufx::matrix
