// SPDX-License-Identifier: BSD-3-Clause
// Atomics, executed by the target's processor: a request and a reply in the two AM sequences.
//
// Each of the two is kept until the other side's window covers it, so a request is executed once
// and a reply is never lost, whatever lanes do; there is no cache of results.
#include "ucp/context.h"
#include "ucp/ep.h"
#include "ucp/mem_table.h"
#include "ucp/post.h"
#include "ucp/proto.h"
#include "ucp/refuse.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"
#include "ucs/entry.h"
#include "ucs/guarded_copy.h"

#include <algorithm>
#include <cstdint>

namespace ufx::ucp {

namespace {

template <class T>
T run(T *at, ufx_ucp_atomic_op_t op, T operand, T compare)
{
    switch (op) {
    case UFX_UCP_ATOMIC_ADD:
        return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);
    case UFX_UCP_ATOMIC_AND:
        return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);
    case UFX_UCP_ATOMIC_OR:
        return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);
    case UFX_UCP_ATOMIC_XOR:
        return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);
    case UFX_UCP_ATOMIC_SWAP:
        return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);
    case UFX_UCP_ATOMIC_CSWAP:
        __atomic_compare_exchange_n(at, &compare, operand, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return compare;
    }
    return 0;
}

bool is_valid(unsigned op, std::size_t size, std::uint64_t address)
{
    return op <= UFX_UCP_ATOMIC_CSWAP && (size == 4 || size == 8) && address % size == 0;
}

atomic_rep_body execute(mem_table &memory, const atomic_req_body &req)
{
    atomic_rep_body reply;
    reply.request = req.request;
    if (!is_valid(req.op, req.size, req.address)) {
        reply.status = UFX_ERR_REMOTE_ACCESS;
        return reply;
    }
    const auto op = static_cast<ufx_ucp_atomic_op_t>(req.op);
    reply.status = memory.with(
        req.memory, req.address, req.size, UFX_UCP_MEM_REMOTE_ATOMIC, [&](std::byte *at) {
            if (req.size == 4) {
                reply.value = run(reinterpret_cast<std::uint32_t *>(at), op,
                                  static_cast<std::uint32_t>(req.operand),
                                  static_cast<std::uint32_t>(req.compare));
            } else {
                reply.value =
                    run(reinterpret_cast<std::uint64_t *>(at), op, req.operand, req.compare);
            }
        });
    return reply;
}

} // namespace

void ep_rx::deliver_atomic_request(recv_message &message)
{
    atomic_req_body body;
    if (!decode(message.body(), body)) {
        return;
    }
    // What may lack memory comes first: once executed, it is answered.
    request_pool::draft reply = start_internal(ep_, am_type::ATOMIC_REP, atomic_rep_size);
    if (reply != nullptr) {
        encode(execute(ep_.home().ctx().memory, body), reply->head.data());
        ep_.tx.submit(*reply.release());
    }
}

void ep_rx::deliver_atomic_reply(recv_message &message)
{
    atomic_rep_body body;
    if (!decode(message.body(), body)) {
        return;
    }
    request *r = ep_.home().requests.find(body.request);
    if (r == nullptr || r->completed || r->target != &ep_ || r->kind != op::ATOMIC ||
        r->answers == 0) {
        return;
    }
    ufx_status_t status = body.status == UFX_OK ? UFX_OK : UFX_ERR_REMOTE_ACCESS;
    if (status == UFX_OK && r->result != nullptr && !r->state.is_claimed()) {
        const auto low = static_cast<std::uint32_t>(body.value);
        const bool written = r->result_size == sizeof(low)
                                 ? ucs::guarded_write(r->result, &low, sizeof(low))
                                 : ucs::guarded_write(r->result, &body.value, sizeof(body.value));
        status = written ? UFX_OK : UFX_ERR_LOCAL_PROT;
    }
    ep_.tx.answered(*r, status);
}

namespace {

constexpr const char *call_name = "ufx_ucp_atomic";

ufx_status_t check_atomic(const atomic_req_body &wanted, const void *result, ufx_ucp_rkey_h key)
{
    if (key == nullptr) {
        return refuse_null(call_name, "rkey");
    }
    if (!is_valid(wanted.op, wanted.size, wanted.address)) {
        return refuse(call_name, "op is unknown, size is neither 4 nor 8, or remote_addr is not "
                                 "a multiple of size");
    }
    if (!rkey::of(key).holds(wanted.address, wanted.size)) {
        return refuse(call_name, "remote_addr is not in the range of rkey");
    }
    const bool fetches = wanted.op == UFX_UCP_ATOMIC_SWAP || wanted.op == UFX_UCP_ATOMIC_CSWAP;
    return fetches && result == nullptr ? refuse_null(call_name, "result") : UFX_OK;
}

ufx_status_t start_atomic(ep &e, atomic_req_body body, void *result, ufx_ucp_rkey_h key,
                          const ufx_ucp_op_params_t *params, ufx_ucp_request_h *out)
{
    if (const ufx_status_t bad = check_atomic(body, result, key); bad != UFX_OK) {
        return bad;
    }
    request_pool::draft r = e.home().requests.start(e.home(), &e, params, op::ATOMIC);
    body.request = r->id;
    body.memory = rkey::of(key).memory_id();
    r->type = am_type::ATOMIC_REQ;
    r->head.resize(atomic_req_size);
    encode(body, r->head.data());
    r->answers = 1;
    r->result = result;
    r->result_size = body.size;
    r->length = body.size;
    const ufx_status_t status = shape_am(e, *r);
    return status == UFX_OK ? launch(e, std::move(r), out) : status;
}

} // namespace
} // namespace ufx::ucp

namespace ucp = ufx::ucp;
namespace ucs = ufx::ucs;

extern "C" ufx_status_t ufx_ucp_atomic(ufx_ucp_ep_h ep, ufx_ucp_atomic_op_t op, uint64_t operand,
                                       uint64_t compare, size_t size, void *result,
                                       uint64_t remote_addr, ufx_ucp_rkey_h rkey,
                                       const ufx_ucp_op_params_t *params,
                                       ufx_ucp_request_h *request) noexcept
{
    constexpr unsigned no_such = UINT8_MAX; // what does not fit in there is refused as that
    ucp::atomic_req_body body;
    body.address = remote_addr;
    body.operand = operand;
    body.compare = compare;
    body.op = static_cast<std::uint8_t>(std::min(ucp::number_of(op), no_such));
    body.size = static_cast<std::uint8_t>(std::min<std::size_t>(size, no_such));
    return ucp::on_ep(__func__, ep, request, true, [&](ucp::ep &e) {
        return ucp::start_atomic(e, body, result, rkey, params, request);
    });
}
