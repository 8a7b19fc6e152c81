// SPDX-License-Identifier: BSD-3-Clause
// Two UFX workers of one process over two rails, for a test that runs beside another library.
#include "ufx_side.h"

#include <chrono>
#include <cstring>

namespace {

constexpr std::size_t block_bytes = 64 * 1024;
constexpr unsigned slot_count = 16;
constexpr const char *rails = "lo:127.0.0.1,lo:127.0.0.2";

} // namespace

ufx_side::ufx_side() : target_(block_bytes * slot_count), slots_(slot_count)
{
    for (unsigned i = 0; i < slot_count; ++i) {
        slots_[i].owner = this;
        slots_[i].index = i;
        slots_[i].source.resize(block_bytes);
    }
    connect();
}

ufx_side::~ufx_side()
{
    if (rkey_ != nullptr) {
        ufx_ucp_rkey_destroy(rkey_);
    }
    if (sender_ != nullptr) {
        ufx_ucp_worker_destroy(sender_);
    }
    if (receiver_ != nullptr) {
        ufx_ucp_worker_destroy(receiver_);
    }
    if (mem_ != nullptr) {
        ufx_ucp_mem_unmap(context_, mem_);
    }
    if (context_ != nullptr) {
        ufx_ucp_context_destroy(context_);
    }
}

void ufx_side::fail(const char *what, ufx_status_t status)
{
    if (error_.empty()) {
        error_ = std::string(what) + ": " + ufx_ucs_status_name(status);
    }
}

void ufx_side::connect()
{
    ufx_ucp_context_params_t params{};
    params.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES;
    params.devices = rails;
    ufx_status_t status = ufx_ucp_context_create(&params, &context_);
    if (status != UFX_OK) {
        return fail("context", status);
    }
    if ((status = ufx_ucp_worker_create(context_, nullptr, &sender_)) != UFX_OK ||
        (status = ufx_ucp_worker_create(context_, nullptr, &receiver_)) != UFX_OK) {
        return fail("worker", status);
    }
    ufx_ucp_mem_params_t mem{};
    mem.field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH;
    mem.address = target_.data();
    mem.length = target_.size();
    if ((status = ufx_ucp_mem_map(context_, &mem, &mem_)) != UFX_OK) {
        return fail("mem_map", status);
    }

    void *address = nullptr;
    std::size_t length = 0;
    if ((status = ufx_ucp_worker_get_address(receiver_, &address, &length)) != UFX_OK) {
        return fail("address", status);
    }
    ufx_ucp_ep_params_t ep{};
    ep.field_mask = UFX_UCP_EP_PARAM_ADDRESS;
    ep.address = address;
    ep.address_length = length;
    status = ufx_ucp_ep_create(sender_, &ep, &ep_);
    ufx_ucp_worker_release_address(receiver_, address);
    if (status != UFX_OK) {
        return fail("ep", status);
    }
    void *key = nullptr;
    if ((status = ufx_ucp_rkey_pack(context_, mem_, &key, &length)) != UFX_OK) {
        return fail("rkey_pack", status);
    }
    status = ufx_ucp_ep_rkey_unpack(ep_, key, length, &rkey_);
    ufx_ucp_rkey_buffer_release(key);
    if (status != UFX_OK) {
        fail("rkey_unpack", status);
    }
}

void ufx_side::on_put(void *arg, ufx_ucp_request_h request,
                      const ufx_ucp_completion_t *completion) noexcept
{
    slot &s = *static_cast<slot *>(arg);
    s.owner->finish(s, completion->status);
    ufx_ucp_request_free(request);
}

void ufx_side::finish(slot &s, ufx_status_t status)
{
    s.busy = false;
    --in_flight_;
    if (status != UFX_OK) {
        return fail("put completed", status);
    }
    const unsigned char *landed = target_.data() + s.index * block_bytes;
    if (std::memcmp(landed, s.source.data(), block_bytes) != 0) {
        if (error_.empty()) {
            error_ = "a completed put is not in the target's memory";
        }
        return;
    }
    ++checked_;
}

void ufx_side::post(slot &s)
{
    const std::uint64_t value = next_value_++;
    for (std::size_t at = 0; at < block_bytes; at += sizeof value) {
        const std::uint64_t word = value * 0x9e3779b97f4a7c15u + at;
        std::memcpy(s.source.data() + at, &word, sizeof word);
    }
    ufx_ucp_op_params_t params{};
    params.field_mask = UFX_UCP_OP_PARAM_CB;
    params.cb = on_put;
    params.cb_arg = &s;
    ufx_ucp_request_h request = nullptr;
    const auto remote = reinterpret_cast<std::uint64_t>(target_.data() + s.index * block_bytes);
    s.busy = true;
    ++in_flight_;
    const ufx_status_t status =
        ufx_ucp_put(ep_, s.source.data(), block_bytes, remote, rkey_, &params, &request);
    if (status == UFX_OK) {
        return finish(s, UFX_OK);
    }
    if (status != UFX_INPROGRESS) {
        s.busy = false;
        --in_flight_;
        if (status != UFX_ERR_NO_RESOURCE) {
            fail("put", status);
        }
    }
}

void ufx_side::progress()
{
    ufx_ucp_worker_progress(sender_);
    ufx_ucp_worker_progress(receiver_);
}

void ufx_side::step()
{
    if (!error_.empty()) {
        return;
    }
    for (slot &s : slots_) {
        if (!s.busy) {
            post(s);
        }
    }
    progress();
}

void ufx_side::drain()
{
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (in_flight_ != 0 && error_.empty()) {
        progress();
        if (std::chrono::steady_clock::now() > deadline) {
            error_ = "puts are stuck after 30 s";
        }
    }
}

void ufx_side::set_link(const char *rail, bool up)
{
    for (ufx_ucp_worker_h worker : {sender_, receiver_}) {
        if (error_.empty()) {
            const ufx_status_t status = ufx_ucp_rail_set_link(worker, rail, up ? 1 : 0);
            if (status != UFX_OK) {
                fail("set_link", status);
            }
        }
    }
}

std::uint64_t ufx_side::replayed() const
{
    ufx_ucp_failover_stats_t stats{};
    ufx_ucp_worker_query_failover(sender_, &stats);
    return stats.replayed;
}

std::uint64_t ufx_side::switches() const
{
    ufx_ucp_failover_stats_t stats{};
    ufx_ucp_worker_query_failover(sender_, &stats);
    return stats.switches;
}
