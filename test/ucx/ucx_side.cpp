// SPDX-License-Identifier: BSD-3-Clause
// Two UCX workers of one process: moves checked blocks by UCX's own ucp_put.
#include "ucx_side.h"

#include <chrono>
#include <cstring>

namespace {

constexpr std::size_t block_bytes = 64 * 1024;

} // namespace

ucx_side::ucx_side() : source_(block_bytes), target_(block_bytes)
{
    connect();
}

ucx_side::~ucx_side()
{
    if (rkey_ != nullptr) {
        ucp_rkey_destroy(rkey_);
    }
    if (ep_ != nullptr) {
        wait(ucp_ep_close_nb(ep_, UCP_EP_CLOSE_MODE_FLUSH), "ep_close");
    }
    if (mem_ != nullptr) {
        ucp_mem_unmap(context_, mem_);
    }
    if (sender_ != nullptr) {
        ucp_worker_destroy(sender_);
    }
    if (receiver_ != nullptr) {
        ucp_worker_destroy(receiver_);
    }
    if (context_ != nullptr) {
        ucp_cleanup(context_);
    }
}

void ucx_side::fail(const char *what, ucs_status_t status)
{
    if (error_.empty()) {
        error_ = std::string("ucx ") + what + ": " + ucs_status_string(status);
    }
}

void ucx_side::connect()
{
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_RMA;
    ucs_status_t status = ucp_init(&params, nullptr, &context_);
    if (status != UCS_OK) {
        return fail("init", status);
    }
    ucp_worker_params_t worker{};
    if ((status = ucp_worker_create(context_, &worker, &sender_)) != UCS_OK ||
        (status = ucp_worker_create(context_, &worker, &receiver_)) != UCS_OK) {
        return fail("worker", status);
    }
    ucp_mem_map_params_t mem{};
    mem.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    mem.address = target_.data();
    mem.length = target_.size();
    if ((status = ucp_mem_map(context_, &mem, &mem_)) != UCS_OK) {
        return fail("mem_map", status);
    }
    ucp_address_t *address = nullptr;
    std::size_t length = 0;
    if ((status = ucp_worker_get_address(receiver_, &address, &length)) != UCS_OK) {
        return fail("address", status);
    }
    ucp_ep_params_t ep{};
    ep.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    ep.address = address;
    status = ucp_ep_create(sender_, &ep, &ep_);
    ucp_worker_release_address(receiver_, address);
    if (status != UCS_OK) {
        return fail("ep", status);
    }
    void *key = nullptr;
    if ((status = ucp_rkey_pack(context_, mem_, &key, &length)) != UCS_OK) {
        return fail("rkey_pack", status);
    }
    status = ucp_ep_rkey_unpack(ep_, key, &rkey_);
    ucp_rkey_buffer_release(key);
    if (status != UCS_OK) {
        fail("rkey_unpack", status);
    }
}

bool ucx_side::wait(ucs_status_ptr_t request, const char *what)
{
    if (request == nullptr) {
        return true;
    }
    if (UCS_PTR_IS_ERR(request)) {
        fail(what, UCS_PTR_STATUS(request));
        return false;
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    ucs_status_t status = UCS_INPROGRESS;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        ucp_worker_progress(sender_);
        ucp_worker_progress(receiver_);
        if (std::chrono::steady_clock::now() > deadline) {
            error_ = std::string("ucx ") + what + " is stuck after 30 s";
            break;
        }
    }
    ucp_request_free(request);
    if (status != UCS_OK) {
        fail(what, status);
    }
    return status == UCS_OK;
}

void ucx_side::step()
{
    if (!error_.empty()) {
        return;
    }
    std::memset(source_.data(), static_cast<int>(checked_ % 251 + 1), source_.size());
    ucp_request_param_t params{};
    const auto remote = reinterpret_cast<std::uint64_t>(target_.data());
    if (!wait(ucp_put_nbx(ep_, source_.data(), source_.size(), remote, rkey_, &params), "put") ||
        !wait(ucp_ep_flush_nbx(ep_, &params), "flush")) {
        return;
    }
    if (std::memcmp(source_.data(), target_.data(), source_.size()) != 0) {
        error_ = "ucx: a flushed put is not in the target's memory";
        return;
    }
    ++checked_;
}
