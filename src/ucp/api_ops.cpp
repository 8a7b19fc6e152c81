// SPDX-License-Identifier: BSD-3-Clause
// The posting calls of the C ABI: put, get, lists, active messages, flush, fence.
#include "ucp/ep.h"
#include "ucp/post.h"
#include "ucp/proto.h"
#include "ucp/refuse.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"
#include "ucs/bytes.h"
#include "ucs/entry.h"

#include <cstring>

namespace ufx::ucp {
namespace {

constexpr std::size_t max_notify = 4096;
constexpr std::uint64_t all_op_flags =
    UFX_UCP_OP_AM_EAGER | UFX_UCP_OP_AM_RNDV | UFX_UCP_OP_AM_REPLY;
constexpr std::size_t notify_fixed = 8;

// Says what is wrong with a transfer that was found wrong.
[[gnu::cold, gnu::noinline]] ufx_status_t refuse_transfer(op kind, const void *buffer,
                                                          std::uint64_t remote, std::size_t length,
                                                          ufx_ucp_rkey_h key)
{
    const char *call = kind == op::PUT ? "ufx_ucp_put" : "ufx_ucp_get";
    if (key == nullptr || (buffer == nullptr && length != 0)) {
        return refuse_null(call, key == nullptr ? "rkey" : "buffer");
    }
    ufx_error("%s: %zu bytes at remote_addr 0x%llx are not in the range of rkey", call, length,
              static_cast<unsigned long long>(remote));
    return UFX_ERR_INVALID_PARAM;
}

ufx_status_t move_one(ep &e, op kind, void *buffer, std::size_t length, std::uint64_t remote,
                      ufx_ucp_rkey_h key, const ufx_ucp_op_params_t *params, ufx_ucp_request_h *out)
{
    if (key == nullptr || (buffer == nullptr && length != 0) ||
        !rkey::of(key).holds(remote, length)) {
        return refuse_transfer(kind, buffer, remote, length, key);
    }
    if (length == 0) {
        return UFX_OK;
    }
    request_pool::draft r = e.home().requests.start(e.home(), &e, params, kind);
    r->pieces.push_back(
        {static_cast<std::byte *>(buffer), remote, length, &rkey::of(key), r->memory});
    if (const ufx_status_t status = shape_rma(e, *r); status != UFX_OK) {
        return status;
    }
    return launch(e, std::move(r), out);
}

void tell_parent(request &notify)
{
    request *parent = notify.home.requests.find(notify.parent);
    if (parent != nullptr && !parent->completed && parent->target != nullptr) {
        parent->target->tx.answered(*parent, notify.state.status(), notify.state.remote_final());
    }
}

request_pool::draft make_notify(ep &e, request &parent, const ufx_ucp_notify_t &notify)
{
    request_pool::draft r = start_internal(e, am_type::NOTIFY, notify_fixed + notify.length);
    if (r == nullptr) {
        return nullptr;
    }
    ucs::store_le64(r->head.data(), notify.tag);
    if (notify.length != 0) {
        std::memcpy(r->head.data() + notify_fixed, notify.data, notify.length);
    }
    r->parent = parent.id;
    r->then = tell_parent;
    return r;
}

bool is_valid(const ufx_ucp_transfer_t &t)
{
    return t.length == 0 || (t.local != nullptr && t.rkey != nullptr &&
                             rkey::of(t.rkey).holds(t.remote_addr, t.length));
}

// Says what is wrong with a list that was found wrong; `bad` is the first wrong transfer.
[[gnu::cold, gnu::noinline]] ufx_status_t refuse_list(op kind, const ufx_ucp_transfer_t &bad,
                                                      std::size_t index)
{
    ufx_error("%s_list: transfers[%zu]: %s", kind == op::PUT ? "ufx_ucp_put" : "ufx_ucp_get", index,
              bad.local == nullptr  ? "local is NULL"
              : bad.rkey == nullptr ? "rkey is NULL"
                                    : "remote_addr and length are not in the range of rkey");
    return UFX_ERR_INVALID_PARAM;
}

ufx_status_t check_notify(const char *call, const ufx_ucp_notify_t &notify)
{
    if (notify.length > max_notify) {
        return refuse(call, "notify->length is above 4096");
    }
    return notify.data == nullptr && notify.length != 0 ? refuse_null(call, "notify->data")
                                                        : UFX_OK;
}

ufx_status_t move_list(ep &e, op kind, const ufx_ucp_transfer_t *transfers, std::size_t count,
                       const ufx_ucp_notify_t *notify, const ufx_ucp_op_params_t *params,
                       ufx_ucp_request_h *out)
{
    const char *call = kind == op::PUT ? "ufx_ucp_put_list" : "ufx_ucp_get_list";
    if (transfers == nullptr && count != 0) {
        return refuse_null(call, "transfers");
    }
    if (notify != nullptr) {
        if (const ufx_status_t bad = check_notify(call, *notify); bad != UFX_OK) {
            return bad;
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!is_valid(transfers[i])) {
            return refuse_list(kind, transfers[i], i);
        }
    }
    request_pool::draft r = e.home().requests.start(e.home(), &e, params, kind);
    for (std::size_t i = 0; i < count; ++i) {
        const ufx_ucp_transfer_t &t = transfers[i];
        if (t.length != 0) {
            r->pieces.push_back({static_cast<std::byte *>(t.local), t.remote_addr, t.length,
                                 &rkey::of(t.rkey), t.mem != nullptr ? &mem::of(t.mem) : nullptr});
        }
    }
    if (r->pieces.empty() && notify == nullptr) {
        return UFX_OK;
    }
    r->answers = notify != nullptr ? 1 : 0;
    if (const ufx_status_t status = shape_rma(e, *r); status != UFX_OK) {
        return status;
    }
    if (notify != nullptr) {
        request_pool::draft n = make_notify(e, *r, *notify);
        if (n == nullptr) {
            return refuse(call, "notify does not fit into 512 fragments");
        }
        r->notify = n.release()->id; // submitted, or undone, with the list
    }
    return launch(e, std::move(r), out);
}

// Says what is wrong with a message that was found wrong.
[[gnu::cold, gnu::noinline]] ufx_status_t refuse_am(std::uint16_t id, const void *header,
                                                    std::size_t header_length)
{
    constexpr const char *call = "ufx_ucp_am_send";
    if (id >= UFX_UCP_AM_ID_MAX) {
        return refuse(call, "id is above 1023");
    }
    if (header_length > max_user_header) {
        return refuse(call, "header_length is above 4096");
    }
    return refuse_null(call, header == nullptr && header_length != 0 ? "header" : "buffer");
}

ufx_status_t send_am(ep &e, std::uint16_t id, const void *header, std::size_t header_length,
                     const void *buffer, std::size_t length, const ufx_ucp_op_params_t *params,
                     ufx_ucp_request_h *out)
{
    if (id >= UFX_UCP_AM_ID_MAX || header_length > max_user_header ||
        (header == nullptr && header_length != 0) || (buffer == nullptr && length != 0)) {
        return refuse_am(id, header, header_length);
    }
    const std::uint64_t flags =
        params != nullptr && (params->field_mask & UFX_UCP_OP_PARAM_FLAGS) != 0 ? params->flags : 0;
    if ((flags & ~all_op_flags) != 0) {
        return refuse("ufx_ucp_am_send",
                      "params->flags has bits that are none of ufx_ucp_op_flags");
    }
    const bool eager = (flags & UFX_UCP_OP_AM_EAGER) != 0;
    const bool rendezvous =
        length != 0 && !eager &&
        ((flags & UFX_UCP_OP_AM_RNDV) != 0 || length >= e.home().cfg().rndv_thresh);
    request_pool::draft r = e.home().requests.start(e.home(), &e, params, op::AM);
    r->am_id = id;
    r->user_header = static_cast<std::uint16_t>(header_length);
    const auto *bytes = static_cast<const std::byte *>(header);
    r->head.assign(bytes, bytes + header_length);
    r->length = length;
    ufx_status_t status = UFX_OK;
    if (rendezvous) {
        status = make_rts(e, *r, buffer, length);
    } else {
        r->payload = static_cast<const std::byte *>(buffer);
        r->payload_length = length;
    }
    if (status == UFX_OK) {
        status = shape_am(e, *r);
    }
    if (status == UFX_ERR_INVALID_PARAM) {
        return refuse("ufx_ucp_am_send", "length needs more than 512 fragments without rendezvous");
    }
    return status == UFX_OK ? launch(e, std::move(r), out) : status;
}

ufx_status_t flush_ep(ep &e, const ufx_ucp_op_params_t *params, ufx_ucp_request_h *out)
{
    request_pool::draft r = e.home().requests.start(e.home(), &e, params, op::FLUSH);
    if (e.tx.flush(*r)) {
        return UFX_OK;
    }
    request *taken = r.release();
    if (out != nullptr) {
        *out = taken->handle();
    }
    return UFX_INPROGRESS;
}

// One flush of an ep has ended; the worker's ends with the last.
void tell_worker_flush(request &part)
{
    request *whole = part.home.requests.find(part.parent);
    if (whole != nullptr && !whole->completed && whole->state.fragment_final(part.state.status())) {
        whole->complete();
    }
}

ufx_status_t flush_worker(worker &w, const ufx_ucp_op_params_t *params, ufx_ucp_request_h *out)
{
    request_pool::draft whole = w.requests.start(w, nullptr, params, op::FLUSH);
    for (const ucs::owner<ep> &e : w.eps()) {
        request_pool::draft part = w.requests.start(w, e.get(), nullptr, op::FLUSH);
        part->parent = whole->id;
        part->then = tell_worker_flush;
        if (!e->tx.flush(*part)) {
            (void)part.release(); // tell_worker_flush finds no whole if a later part lacks memory
            whole->state.add(1);
        }
    }
    if (whole->state.fragment_final(UFX_OK)) {
        return UFX_OK;
    }
    request *taken = whole.release();
    if (out != nullptr) {
        *out = taken->handle();
    }
    return UFX_INPROGRESS;
}

} // namespace
} // namespace ufx::ucp

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

extern "C" ufx_status_t ufx_ucp_put(ufx_ucp_ep_h ep, const void *buffer, size_t length,
                                    uint64_t remote_addr, ufx_ucp_rkey_h rkey,
                                    const ufx_ucp_op_params_t *params,
                                    ufx_ucp_request_h *request) noexcept
{
    return ucp::on_ep(__func__, ep, request, true, [&](ucp::ep &e) {
        return ucp::move_one(e, ucp::op::PUT, const_cast<void *>(buffer), length, remote_addr, rkey,
                             params, request);
    });
}

extern "C" ufx_status_t ufx_ucp_get(ufx_ucp_ep_h ep, void *buffer, size_t length,
                                    uint64_t remote_addr, ufx_ucp_rkey_h rkey,
                                    const ufx_ucp_op_params_t *params,
                                    ufx_ucp_request_h *request) noexcept
{
    return ucp::on_ep(__func__, ep, request, true, [&](ucp::ep &e) {
        return ucp::move_one(e, ucp::op::GET, buffer, length, remote_addr, rkey, params, request);
    });
}

extern "C" ufx_status_t ufx_ucp_put_list(ufx_ucp_ep_h ep, const ufx_ucp_transfer_t *transfers,
                                         size_t count, const ufx_ucp_notify_t *notify,
                                         const ufx_ucp_op_params_t *params,
                                         ufx_ucp_request_h *request) noexcept
{
    return ucp::on_ep(__func__, ep, request, true, [&](ucp::ep &e) {
        return ucp::move_list(e, ucp::op::PUT, transfers, count, notify, params, request);
    });
}

extern "C" ufx_status_t ufx_ucp_get_list(ufx_ucp_ep_h ep, const ufx_ucp_transfer_t *transfers,
                                         size_t count, const ufx_ucp_notify_t *notify,
                                         const ufx_ucp_op_params_t *params,
                                         ufx_ucp_request_h *request) noexcept
{
    return ucp::on_ep(__func__, ep, request, true, [&](ucp::ep &e) {
        return ucp::move_list(e, ucp::op::GET, transfers, count, notify, params, request);
    });
}

extern "C" ufx_status_t ufx_ucp_am_send(ufx_ucp_ep_h ep, uint16_t id, const void *header,
                                        size_t header_length, const void *buffer, size_t length,
                                        const ufx_ucp_op_params_t *params,
                                        ufx_ucp_request_h *request) noexcept
{
    return ucp::on_ep(__func__, ep, request, true, [&](ucp::ep &e) {
        return ucp::send_am(e, id, header, header_length, buffer, length, params, request);
    });
}

extern "C" ufx_status_t ufx_ucp_ep_flush(ufx_ucp_ep_h ep, const ufx_ucp_op_params_t *params,
                                         ufx_ucp_request_h *request) noexcept
{
    return ucp::on_ep(__func__, ep, request, false,
                      [&](ucp::ep &e) { return ucp::flush_ep(e, params, request); });
}

extern "C" ufx_status_t ufx_ucp_worker_flush(ufx_ucp_worker_h worker,
                                             const ufx_ucp_op_params_t *params,
                                             ufx_ucp_request_h *request) noexcept
{
    ucp::give_no_request(request);
    if (worker == nullptr) {
        return ucp::refuse_null(__func__, "worker");
    }
    ucp::worker &w = ucp::worker::of(worker);
    auto guard = w.lock();
    return ucs::guard([&] { return ucp::flush_worker(w, params, request); });
}

extern "C" ufx_status_t ufx_ucp_ep_fence(ufx_ucp_ep_h ep) noexcept
{
    return ucp::on_ep(__func__, ep, nullptr, false, [](ucp::ep &e) {
        e.tx.fence();
        return UFX_OK;
    });
}

extern "C" ufx_status_t ufx_ucp_worker_fence(ufx_ucp_worker_h worker) noexcept
{
    if (worker == nullptr) {
        return ucp::refuse_null(__func__, "worker");
    }
    ucp::worker &w = ucp::worker::of(worker);
    auto guard = w.lock();
    for (const ucs::owner<ucp::ep> &e : w.eps()) {
        e->tx.fence();
    }
    return UFX_OK;
}
