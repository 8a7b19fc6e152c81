// SPDX-License-Identifier: BSD-3-Clause
// Claims, flushes, and order after PUTs.
#include <catch2/catch.hpp>

#include "ucp/core/flush_gate.h"
#include "ucp/core/op_state.h"
#include "ucp/core/order_group.h"

using namespace ufx::ucp::core;

TEST_CASE("op: it completes once, though several fragments fail", "[M07][core]")
{
    op_state op(3);
    unsigned completions = 0;
    completions += op.fragment_final(UFX_ERR_TIMEOUT, cause::OP_DEADLINE) ? 1 : 0;
    CHECK(op.is_claimed());
    CHECK_FALSE(op.is_complete());
    completions += op.fragment_final(UFX_ERR_UNREACHABLE) ? 1 : 0;
    completions += op.fragment_final(UFX_OK) ? 1 : 0;
    completions += op.fragment_final(UFX_ERR_UNREACHABLE) ? 1 : 0;
    CHECK(completions == 1);
    CHECK(op.status() == UFX_ERR_TIMEOUT);
    CHECK(op.why() == cause::OP_DEADLINE);
}

TEST_CASE("op: a late error cannot turn a success into a failure", "[M12][core]")
{
    op_state op(1);
    CHECK(op.fragment_final(UFX_OK));
    CHECK_FALSE(op.claim(UFX_ERR_CANCELED));
    CHECK_FALSE(op.fragment_final(UFX_ERR_UNREACHABLE));
    CHECK(op.status() == UFX_OK);
}

TEST_CASE("op: remote memory is final only if it is for every fragment", "[core]")
{
    op_state op(2);
    op.fragment_final(UFX_ERR_AMBIGUOUS, cause::NONE, false);
    op.fragment_final(UFX_OK);
    CHECK_FALSE(op.remote_final());
}

TEST_CASE("flush: it waits for what was submitted before it, replayed or not", "[X04][core]")
{
    flush_gate gate;
    const auto frozen = gate.enter();
    const auto flush = gate.close();
    const auto later = gate.enter();
    CHECK_FALSE(gate.passed(flush));
    gate.leave(later);
    CHECK_FALSE(gate.passed(flush));
    gate.leave(frozen); // its replay is final
    CHECK(gate.passed(flush));
    const auto empty = gate.close();
    CHECK(gate.passed(empty));
}

TEST_CASE("order: a notify follows on the lane of its PUTs, elsewhere only when they are final",
          "[X25][core]")
{
    order_group g;
    g.add(2);
    CHECK_FALSE(g.may_follow(0, 1));
    g.posted(0, 1);
    CHECK_FALSE(g.may_follow(0, 1)); // one is not posted yet
    g.posted(0, 1);
    CHECK(g.may_follow(0, 1));
    CHECK_FALSE(g.may_follow(1, 1));
    CHECK_FALSE(g.may_follow(0, 2)); // another lane of the same rail
    g.frozen(0, 1);
    CHECK_FALSE(g.may_follow(0, 1));
    g.final_on(0, 1, UFX_OK);
    CHECK_FALSE(g.may_follow(1, 1));
    g.posted(1, 1);
    CHECK(g.may_follow(1, 1));
    g.final_on(1, 1, UFX_OK);
    CHECK(g.may_follow(0, 9));
}

TEST_CASE("order: nothing follows a PUT that failed", "[X25][core]")
{
    order_group g;
    g.add(1);
    g.final_waiting(UFX_ERR_CANCELED);
    CHECK(g.failed());
    CHECK_FALSE(g.may_follow(0, 1));
}
