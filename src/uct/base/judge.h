// SPDX-License-Identifier: BSD-3-Clause
// Verdicts over outstanding operations from how far the peer got.
#ifndef UFX_UCT_BASE_JUDGE_H
#define UFX_UCT_BASE_JUDGE_H

#include "op_record.h"

namespace ufx::uct {

// How much of one operation was executed at the target, according to an EXACT token.
enum class extent { none, partial, whole };

// A whole read or fetch has no data here: its answer is gone. Only a put can be partly landed.
[[nodiscard]] inline ufx_uct_verdict_t verdict_of(const op_record &record, extent done) noexcept
{
    if (done == extent::none) {
        return UFX_UCT_VERDICT_NOT_LANDED;
    }
    if (done == extent::partial) {
        return record.kind == UFX_UCT_OP_PUT ? UFX_UCT_VERDICT_PARTIAL : UFX_UCT_VERDICT_NOT_LANDED;
    }
    switch (record.kind) {
    case UFX_UCT_OP_GET:
    case UFX_UCT_OP_ATOMIC_FETCH:
    case UFX_UCT_OP_FLUSH_REMOTE:
    case UFX_UCT_OP_CHECK:
        return UFX_UCT_VERDICT_RESULT_LOST;
    default:
        return UFX_UCT_VERDICT_LANDED;
    }
}

} // namespace ufx::uct

#endif
