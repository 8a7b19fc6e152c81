// SPDX-License-Identifier: BSD-3-Clause
// A sealed lane hands its outstanding operations back: who each one is, for the core to judge.
#include "ucp/ep.h"
#include "ucp/ep_tx.h"
#include "ucp/request_pool.h"
#include "ucp/worker.h"

#include <utility>

namespace ufx::ucp {

namespace {

// The number that a data frame in uct's journal carries; false for lone acks.
bool number_of(const ufx_uct_op_desc_t &op, core::purged_op &out)
{
    const bool by_zcopy = op.form == UFX_UCT_FORM_ZCOPY;
    const void *bytes = by_zcopy ? op.header : op.payload;
    const std::size_t length = by_zcopy ? op.header_length : op.length;
    if (bytes == nullptr || length < am_header_size) {
        return false;
    }
    ucs::byte_reader in(bytes, length);
    const auto type = static_cast<am_type>(in.u8());
    (void)in.bytes(15);
    out.number = in.le64();
    out.fragment.kind = type == am_type::SKIP ? core::op_kind::SKIP : core::op_kind::AM;
    return type != am_type::ACK;
}

bool is_protection(ufx_uct_error_cause_t cause)
{
    return cause == UFX_UCT_CAUSE_REMOTE_ACCESS || cause == UFX_UCT_CAUSE_LOCAL_PROT;
}

} // namespace

// Whether the lane failed by this operation. If its transport does not say by which: operations are
// applied in order, so that it was the first that did not land.
bool ep_tx::find_guilty(lane &over, const ufx_uct_op_desc_t &op, bool landed)
{
    if (over.knows_guilty()) {
        return over.is_guilty(op.index);
    }
    return !landed && !std::exchange(over.room.guilty_found, true);
}

core::purged_op ep_tx::on_purge(lane &over, const ufx_uct_op_desc_t *op, core::verdict verdict,
                                std::uint64_t bytes)
{
    core::purged_op out;
    out.fragment.kind = core::op_kind::NOP;
    out.verdict = verdict;
    out.bytes = bytes;
    fragment *f = fragment::of(op->comp);
    if (op->kind == UFX_UCT_OP_AM) {
        if (op->am_id == uct_am_data && !number_of(*op, out)) {
            out.fragment.kind = core::op_kind::NOP;
        }
        if (out.fragment.kind != core::op_kind::NOP && verdict == core::verdict::LANDED) {
            ep_.home().stats.landed();
        }
        if (f != nullptr) {
            request &r = *f->op;
            free_fragment(*f); // the lane is quiet: the core lets go of the payload by itself
            if (over.error_cause() == UFX_UCT_CAUSE_LOCAL_PROT && find_guilty(over, *op, false)) {
                end_guilty(r, UFX_ERR_LOCAL_PROT);
            }
        }
        return out;
    }
    if (f == nullptr || (op->kind != UFX_UCT_OP_PUT && op->kind != UFX_UCT_OP_GET)) {
        return out;
    }
    request &r = *f->op;
    out.fragment.kind = f->kind;
    out.fragment.handle = ep_.home().requests.name(*f);
    out.fragment.op = r.id;
    out.fragment.from = f->from;
    out.fragment.group = f->kind == core::op_kind::PUT ? r.group : 0;
    out.fragment.replays = f->replays;
    out.fragment.polled = ep_.polls_memory();
    if (r.state.is_claimed()) {
        out.claimed = true;
        out.status = r.state.status();
    }
    const bool landed = verdict == core::verdict::LANDED || verdict == core::verdict::RESULT_LOST;
    if (is_protection(over.error_cause()) && find_guilty(over, *op, landed)) {
        const bool is_local = over.error_cause() == UFX_UCT_CAUSE_LOCAL_PROT;
        out.claimed = true;
        out.status = is_local ? UFX_ERR_LOCAL_PROT : UFX_ERR_REMOTE_ACCESS;
        end_guilty(r, out.status); // what is not posted would end so too
    }
    failover_stats &stats = ep_.home().stats;
    if (f->kind == core::op_kind::PUT && verdict == core::verdict::LANDED) {
        stats.landed();
    } else if (verdict == core::verdict::PARTIAL) {
        stats.partial();
    }
    unload(f->where, f->part.length - f->from, f->kind);
    f->where = {};
    return out;
}

} // namespace ufx::ucp
