// SPDX-License-Identifier: BSD-3-Clause
// One worker and one peer.
#include "tools/common/ucp_session.h"

#include "tools/common/error.h"
#include "tools/common/units.h"

#include <cstring>
#include <poll.h>
#include <sys/mman.h>
#include <ufx/ucs.h>

namespace ufx::tools {

namespace {

// Progress calls that found nothing before the session sleeps: about the cost of one system call.
constexpr unsigned SPINS = 200;

/** Wrong input if the user named the devices, and they are what cannot be had. */
tool_error open_error(ufx_status_t status, const std::string &devices)
{
    const char *set = ufx_ucs_config_get("UFX_NET_DEVICES", nullptr);
    const bool by_setting = devices.empty() && set != nullptr && *set != '\0';
    const std::string named = by_setting ? std::string(set) + " of UFX_NET_DEVICES" : devices;
    const bool is_input =
        !named.empty() && (status == UFX_ERR_NO_DEVICE || status == UFX_ERR_INVALID_PARAM);
    return tool_error(describe(status, named.empty() ? "cannot open the network devices"
                                                     : "cannot open devices " + named),
                      is_input ? EXIT_USAGE : EXIT_RUN);
}

} // namespace

const char *rail_state_name(ufx_ucp_rail_state_t state)
{
    switch (state) {
    case UFX_UCP_RAIL_UP:
        return "UP";
    case UFX_UCP_RAIL_SUSPECT:
        return "SUSPECT";
    case UFX_UCP_RAIL_DRAINING:
        return "DRAINING";
    case UFX_UCP_RAIL_DOWN:
        return "DOWN";
    case UFX_UCP_RAIL_PROBING:
        return "PROBING";
    }
    return "?";
}

const char *rail_state_name(const ufx_ucp_rail_attr_t &rail)
{
    return rail.state == UFX_UCP_RAIL_DOWN && rail.drained != 0 ? "DRAINED"
                                                                : rail_state_name(rail.state);
}

ucp_session::ucp_session(const std::string &devices, const std::string &name, bool threads)
{
    ufx_ucp_context_params_t params = {};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_NAME;
    params.name = name.c_str();
    if (!devices.empty()) {
        params.field_mask |= UFX_UCP_CONTEXT_PARAM_DEVICES;
        params.devices = devices.c_str();
    }
    const ufx_status_t opened = ufx_ucp_context_create(&params, &context_);
    if (opened < 0) {
        throw open_error(opened, devices);
    }
    ufx_ucp_worker_params_t worker_params = {};
    worker_params.field_mask = UFX_UCP_WORKER_PARAM_RAIL_EVENT | UFX_UCP_WORKER_PARAM_NAME |
                               UFX_UCP_WORKER_PARAM_EP_ACCEPT | UFX_UCP_WORKER_PARAM_THREAD_MODE;
    worker_params.thread_mode = threads ? UFX_UCP_THREAD_MULTI : UFX_UCP_THREAD_SINGLE;
    worker_params.rail_event_cb = rail_event_cb;
    worker_params.rail_event_arg = this;
    worker_params.name = name.c_str();
    worker_params.ep_accept_cb = accept_cb;
    worker_params.ep_accept_arg = this;
    const ufx_status_t status = ufx_ucp_worker_create(context_, &worker_params, &worker_);
    if (status < 0) {
        ufx_ucp_context_destroy(context_);
        check(status, "cannot make a worker");
    }
}

ucp_session::~ucp_session()
{
    ufx_ucp_worker_destroy(worker_);
    ufx_ucp_context_destroy(context_);
}

std::string ucp_session::address() const
{
    void *bytes = nullptr;
    size_t length = 0;
    check(ufx_ucp_worker_get_address(worker_, &bytes, &length), "cannot get the worker's address");
    std::string copy(static_cast<const char *>(bytes), length);
    ufx_ucp_worker_release_address(worker_, bytes);
    return copy;
}

void ucp_session::connect(const std::string &peer_address)
{
    ufx_ucp_ep_params_t params = {};
    params.field_mask = UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_EVENT_CB;
    params.address = peer_address.data();
    params.address_length = peer_address.size();
    params.event_cb = ep_event_cb;
    params.event_arg = this;
    check(ufx_ucp_ep_create(worker_, &params, &ep_), "cannot reach the peer");
}

void ucp_session::throw_if_failed() const
{
    if (!failure_.empty()) {
        throw tool_error("the endpoint to the peer failed: " + failure_);
    }
}

void ucp_session::on_rail_event(std::function<void(const rail_event &)> handler)
{
    rail_handler_ = std::move(handler);
}

void ucp_session::progress(int other_fd, int timeout_ms)
{
    if (ufx_ucp_worker_progress(worker_) != 0) {
        idle_ = 0;
        return;
    }
    if (timeout_ms == 0 || ++idle_ < SPINS) {
        return;
    }
    int event_fd = -1;
    if (ufx_ucp_worker_event_fd(worker_, &event_fd) != UFX_OK ||
        ufx_ucp_worker_arm(worker_) != UFX_OK) {
        return;
    }
    pollfd wait[2] = {{event_fd, POLLIN, 0}, {other_fd, POLLIN, 0}};
    ::poll(wait, other_fd >= 0 ? 2 : 1, timeout_ms);
}

std::vector<ufx_ucp_rail_attr_t> ucp_session::rails() const
{
    std::vector<ufx_ucp_rail_attr_t> rails(UFX_UCP_RAILS_MAX);
    size_t count = rails.size();
    check(ufx_ucp_worker_query_rails(worker_, rails.data(), &count), "cannot query the rails");
    rails.resize(count);
    return rails;
}

ufx_ucp_failover_stats_t ucp_session::failover_stats() const
{
    ufx_ucp_failover_stats_t stats = {};
    check(ufx_ucp_worker_query_failover(worker_, &stats), "cannot query the failover counters");
    return stats;
}

ufx_ucp_request_h ucp_session::begin_close(ufx_ucp_close_mode_t mode)
{
    ufx_ucp_request_h request = nullptr;
    if (ep_ != nullptr && ufx_ucp_ep_close(ep_, mode, nullptr, &request) != UFX_INPROGRESS) {
        request = nullptr;
    }
    ep_ = nullptr;
    return request;
}

void ucp_session::close(ufx_ucp_close_mode_t mode, int timeout_ms)
{
    const ufx_ucp_request_h request = begin_close(mode);
    if (request == nullptr) {
        return;
    }
    const uint64_t deadline = now_ns() + static_cast<uint64_t>(timeout_ms) * 1000000u;
    while (ufx_ucp_request_check(request) == UFX_INPROGRESS && now_ns() < deadline) {
        progress(-1, 10);
    }
    ufx_ucp_request_free(request);
}

void ucp_session::accept_cb(void *arg, ufx_ucp_ep_h ep) noexcept
{
    auto *self = static_cast<ucp_session *>(arg);
    if (self->ep_ == nullptr) {
        self->ep_ = ep;
        ufx_ucp_ep_set_event_cb(ep, ep_event_cb, self);
    }
}

void ucp_session::ep_event_cb(void *arg, ufx_ucp_ep_h, const ufx_ucp_ep_event_t *event) noexcept
{
    auto *self = static_cast<ucp_session *>(arg);
    if (event->type == UFX_UCP_EP_EVENT_CLOSED_BY_PEER) {
        self->closed_by_peer_ = true;
    } else if (event->type == UFX_UCP_EP_EVENT_ERROR && self->failure_.empty()) {
        self->failure_ = std::string(ufx_ucs_status_name(event->status)) + ": " +
                         (event->text != nullptr ? event->text : "no reason given");
    }
}

void ucp_session::rail_event_cb(void *arg, const ufx_ucp_rail_event_t *event) noexcept
{
    auto *self = static_cast<ucp_session *>(arg);
    if (!self->rail_handler_) {
        return;
    }
    rail_event copy;
    copy.rail = event->rail;
    copy.index = event->rail_index;
    copy.from = event->from;
    copy.to = event->to;
    copy.cause = event->cause != nullptr ? event->cause : "";
    copy.time_ns = event->time_ns;
    self->rail_handler_(copy);
}

ucp_memory::ucp_memory(ufx_ucp_context_h context, size_t length)
    : context_(context), length_(length)
{
    void *memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        throw tool_error("no memory for " + show_size(static_cast<double>(length)));
    }
    data_ = static_cast<unsigned char *>(memory);
    ufx_ucp_mem_params_t params = {};
    params.field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH;
    params.address = memory;
    params.length = length;
    const ufx_status_t status = ufx_ucp_mem_map(context, &params, &mem_);
    if (status < 0) {
        ::munmap(memory, length);
        check(status, "cannot register memory");
    }
}

ucp_memory::~ucp_memory()
{
    ufx_ucp_mem_unmap(context_, mem_);
    ::munmap(data_, length_);
}

std::string ucp_memory::key() const
{
    void *bytes = nullptr;
    size_t length = 0;
    check(ufx_ucp_rkey_pack(context_, mem_, &bytes, &length), "cannot pack a memory key");
    std::string copy(static_cast<const char *>(bytes), length);
    ufx_ucp_rkey_buffer_release(bytes);
    return copy;
}

ucp_remote_key::ucp_remote_key(ufx_ucp_ep_h ep, const std::string &packed)
{
    check(ufx_ucp_ep_rkey_unpack(ep, packed.data(), packed.size(), &rkey_),
          "the peer's memory key is not usable");
}

ucp_remote_key::~ucp_remote_key()
{
    ufx_ucp_rkey_destroy(rkey_);
}

} // namespace ufx::tools
