// SPDX-License-Identifier: BSD-3-Clause
// How messages and transfers are cut into fragments; messages of ucp itself.
#include "ucp/proto.h"

#include "ucp/context.h"
#include "ucp/ep.h"
#include "ucp/mem_table.h"
#include "ucp/peer.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"

#include <algorithm>

namespace ufx::ucp {

namespace {

// Leaves in `memory` what holds the bytes; made for this operation if it was not the user's.
ufx_status_t hold(request &r, std::byte *from, std::size_t length, bool is_written, mem *&memory)
{
    if (memory != nullptr && memory->holds(from, length)) {
        return UFX_OK;
    }
    const ucs::result<mem *> made = r.home.ctx().memory.map_local(from, length, is_written);
    if (!made) { // of a range that is valid as such: the memory is not there
        return made.error() == UFX_ERR_INVALID_PARAM ? UFX_ERR_LOCAL_PROT : made.error();
    }
    memory = made.value();
    r.add_own(*memory);
    return UFX_OK;
}

bool needs_registration(const ep &e)
{
    return e.home().ctx().needs_memh() && !(e.has_peer() && e.remote().is_self());
}

} // namespace

ufx_status_t shape_am(ep &e, request &r)
{
    const ep_tx::frame_limits &limits = e.tx.limits();
    bool by_zcopy = limits.zcopy != 0 && r.head.size() <= limits.header &&
                    r.payload_length >= e.home().cfg().zcopy_thresh;
    const std::size_t most =
        std::min(std::max(limits.bcopy, by_zcopy ? limits.zcopy : 0), max_am_fragment);
    if (r.payload_length / max_am_fragments > most) { // the sum below may overflow
        return UFX_ERR_INVALID_PARAM;
    }
    if (by_zcopy && needs_registration(e)) {
        auto *from = const_cast<std::byte *>(r.payload);
        const ufx_status_t status = hold(r, from, r.payload_length, false, r.memory);
        if (status != UFX_OK && status != UFX_ERR_NO_MEMORY) {
            return status;
        }
        by_zcopy = status == UFX_OK; // else it is copied
    }
    r.fragment_size = std::min(by_zcopy ? limits.zcopy : limits.bcopy, max_am_fragment);
    const std::size_t stream = r.stream_length();
    const std::size_t count =
        stream <= r.fragment_size ? 1 : (stream + r.fragment_size - 1) / r.fragment_size;
    if (count > max_am_fragments) {
        return UFX_ERR_INVALID_PARAM;
    }
    r.count = static_cast<std::uint32_t>(count);
    r.unposted = r.count;
    r.state = core::op_state(r.count + r.answers);
    return UFX_OK;
}

ufx_status_t shape_rma(ep &e, request &r)
{
    const bool registers = needs_registration(e);
    for (std::size_t i = 0; registers && i < r.pieces.size(); ++i) {
        transfer &piece = r.pieces[i];
        const ufx_status_t status =
            hold(r, piece.local, piece.length, r.kind != op::PUT, piece.memory);
        if (status != UFX_OK) {
            return status;
        }
    }
    if (r.pieces.size() == 1 && e.tx.is_small(r.pieces[0].length, r.kind == op::PUT)) {
        r.length = r.chunk = r.pieces[0].length;
        r.unposted = 1;
        r.state = core::op_state(1 + r.answers);
        return UFX_OK;
    }
    std::size_t total = 0;
    for (std::size_t i = 0; i < r.pieces.size(); ++i) {
        total += r.pieces[i].length;
    }
    r.chunk = e.tx.chunk_of(total, r.kind == op::PUT);
    std::size_t parts = 0;
    for (std::size_t i = 0; i < r.pieces.size(); ++i) {
        const std::size_t length = r.pieces[i].length;
        parts += length <= r.chunk ? 1 : (length + r.chunk - 1) / r.chunk;
    }
    r.unposted = static_cast<std::uint32_t>(parts);
    r.state = core::op_state(r.unposted + r.answers);
    r.length = total;
    return UFX_OK;
}

request_pool::draft start_internal(ep &e, am_type type, std::size_t size)
{
    request_pool::draft r = e.home().requests.start(e.home(), &e, nullptr, op::AM);
    r->internal = true;
    r->type = type;
    r->head.resize(size);
    return shape_am(e, *r) == UFX_OK ? std::move(r) : nullptr;
}

} // namespace ufx::ucp
