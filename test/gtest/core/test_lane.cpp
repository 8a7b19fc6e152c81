// SPDX-License-Identifier: BSD-3-Clause
// Lanes and their seals between two cores.
#include <catch2/catch.hpp>

#include "core/duo.h"

#include <algorithm>

using namespace ufx::ucp::core;
using ufx::test::duo;

namespace {

purged_op put(std::uint64_t handle, verdict v, std::uint64_t bytes = 0, group_id group = 0)
{
    purged_op op;
    op.fragment.kind = op_kind::PUT;
    op.fragment.handle = op.fragment.op = handle;
    op.fragment.group = group;
    op.verdict = v;
    op.bytes = bytes;
    return op;
}

template <class M>
std::ptrdiff_t count_sent(const duo::side &s)
{
    return std::count_if(s.sent.begin(), s.sent.end(),
                         [](const act::send &a) { return std::holds_alternative<M>(a.msg); });
}

} // namespace

TEST_CASE("lane: one own QP error rebuilds one lane and drains no rail", "[X16][X22][core]")
{
    duo d;
    d.sides[1].own_error = true;
    d.fail_lane(1, 0, cause::OWN_QP_ERROR);
    for (unsigned s = 0; s < 2; ++s) {
        CHECK(d.lane(s, 0).is_live());
        CHECK(d.lane(s, 0).epoch() == 2);
        CHECK(d.lane(s, 1).epoch() == 1);
        CHECK(d.sides[s].rail_changes.empty());
        CHECK(d.sides[s].peer.book().empty());
    }
}

TEST_CASE("lane: RETRY_EXC is no fault of the rail if the peer's QP had died", "[X22][core]")
{
    duo d;
    d.holding = true;
    d.fail_lane(0, 0, cause::RETRY_EXC);
    CHECK(d.rail(0, 0) == rail_state::SUSPECT);
    d.sides[1].own_error = true; // it is in ERR already when the SEAL comes
    d.holding = false;
    d.pump();
    CHECK(d.rail(0, 0) == rail_state::UP);
    CHECK(d.rail(1, 0) == rail_state::UP);
    CHECK(d.lane(0, 0).epoch() == 2);
}

TEST_CASE("lane: RETRY_EXC that the peer's SEAL does not explain drains the rail", "[core]")
{
    duo d;
    d.fail_lane(0, 0, cause::RETRY_EXC);
    CHECK(std::any_of(d.sides[0].rail_changes.begin(), d.sides[0].rail_changes.end(),
                      [](const auto &c) { return c.why == cause::UNEXPLAINED_RETRY; }));
    CHECK(d.rail(0, 0) == rail_state::DOWN);
    CHECK(d.rail(0, 1) == rail_state::UP);
}

TEST_CASE("lane: a second own QP error within the hold-off condemns the rail on both sides",
          "[core]")
{
    duo d;
    d.fail_lane(0, 0, cause::OWN_QP_ERROR);
    d.fail_lane(0, 0, cause::OWN_QP_ERROR);
    CHECK(d.rail(0, 0) == rail_state::DOWN);
    CHECK(d.rail(1, 0) == rail_state::DOWN);
    for (unsigned i = 0; i < 50 && d.rail(0, 0) != rail_state::UP; ++i) {
        d.tick();
    }
    CHECK(d.rail(0, 0) == rail_state::UP);
    CHECK(d.rail(1, 0) == rail_state::UP);
    CHECK(d.lane(0, 0).is_live());
}

TEST_CASE("lane: RNR_EXC and protection errors never count against the rail", "[core]")
{
    for (const cause why : {cause::RNR_EXC, cause::PROTECTION}) {
        duo d;
        for (unsigned i = 0; i < 5; ++i) {
            d.fail_lane(0, 0, why);
            while (!d.lane(0, 0).is_live()) {
                d.tick();
            }
        }
        CHECK(d.sides[0].rail_changes.empty());
        CHECK(d.sides[1].rail_changes.empty());
    }
}

TEST_CASE("lane: an answerer that sent REP seals with its true token", "[X23][core]")
{
    duo d(1);
    d.fail_lane(0, 0, cause::OWN_QP_ERROR); // the next lane has epoch 2, its READY got through
    duo e(1);
    e.holding = true;
    e.fail_lane(0, 0, cause::OWN_QP_ERROR);
    e.holding = false;
    // Deliver everything but READY of the new lane.
    for (unsigned i = 0; i < 100 && !e.wire.empty(); ++i) {
        const auto [to, msg] = e.wire.front();
        e.wire.pop_front();
        e.holding = true;
        if (!std::holds_alternative<lane_ready_msg>(msg)) {
            e.sides[to].peer.control(msg, e.now, e.sides[to].out);
        }
        e.pump();
    }
    REQUIRE(e.lane(0, 0).is_live());
    REQUIRE(e.lane(1, 0).step() == shake_step::REP_SENT);
    const std::uint8_t position = 5;
    e.sides[1].token.nothing = false;
    e.sides[1].token.rx.assign({&position, 1});
    e.sides[0].purges.clear();
    e.holding = false;
    e.fail_lane(0, 0, cause::CONNECTION_RESET);
    REQUIRE(e.sides[0].purges.size() == 1);
    CHECK_FALSE(e.sides[0].purges[0].landed.nothing);
    CHECK(e.sides[0].purges[0].landed.rx.bytes[0] == position);
}

TEST_CASE("lane: a starter whose READY was lost answers each REP with another", "[X24][core]")
{
    duo d(1);
    const auto before = count_sent<lane_ready_msg>(d.sides[0]);
    d.sides[0].peer.control(lane_rep_msg{{1, 1, 0, 1}, {}, {}}, d.now, d.sides[0].out);
    d.pump();
    CHECK(count_sent<lane_ready_msg>(d.sides[0]) == before + 1);
}

TEST_CASE("seal: an epoch that was never built here is burned and answered", "[X24][core]")
{
    duo d(1);
    d.holding = true;
    seal_msg seal;
    seal.seal_id = 77;
    seal.lane = {1, 1, 0, 9};
    d.sides[1].peer.control(seal, d.now, d.sides[1].out);
    d.pump();
    CHECK(d.lane(1, 0).highest() == 9);
    CHECK(count_sent<seal_ack_msg>(d.sides[1]) == 1);
    REQUIRE(count_sent<seal_msg>(d.sides[1]) == 1);
    const auto &answer = std::get<seal_msg>(d.sides[1].sent.back().msg);
    CHECK(answer.landed.nothing);
    CHECK(answer.landed.grade == grade::EXACT);
}

TEST_CASE("seal: an ep that was closed answers BLIND and EP_GONE", "[core]")
{
    duo d(1);
    d.sides[1].peer.close_ep(1, false, d.now, d.sides[1].out);
    d.pump();
    CHECK(d.sides[1].ep_closed);
    CHECK(d.sides[0].ep_error);
    d.sides[1].peer.forget_ep(1);
    seal_msg seal;
    seal.lane = {1, 1, 0, 1};
    d.holding = true;
    d.sides[1].peer.control(seal, d.now, d.sides[1].out);
    d.pump();
    const auto &answer = std::get<seal_msg>(d.sides[1].sent.back().msg);
    CHECK(answer.ep_gone);
    CHECK(answer.landed.grade == grade::BLIND);
}

TEST_CASE("seal: what a peer asks about lanes that never were fills no memory", "[core]")
{
    duo d(1);
    d.holding = true; // it acks nothing
    for (epoch_t epoch = 2; epoch < 2 + 2 * seal_book::max_answers; ++epoch) {
        seal_msg seal;
        seal.seal_id = epoch;
        seal.lane = {99, epoch % 2 == 0 ? ep_id{99} : ep_id{1}, 0, epoch};
        d.sides[1].peer.control(seal, d.now, d.sides[1].out);
        d.pump();
    }
    CHECK(d.sides[1].peer.book().records().size() == seal_book::max_answers);
    CHECK(count_sent<seal_ack_msg>(d.sides[1]) == seal_book::max_answers); // the others come again
    // Lanes that there are go on to be sealed.
    d.wire.clear();
    d.holding = false;
    d.fail_lane(1, 0, cause::CONNECTION_RESET);
    for (unsigned i = 0; i < 100 && !d.lane(1, 0).is_live(); ++i) {
        d.tick();
    }
    CHECK(d.lane(1, 0).is_live());
}

TEST_CASE("close: one that cuts operations short is an error for the peer, another is none",
          "[core]")
{
    const bool is_cut = GENERATE(false, true);
    duo d;
    d.sides[0].peer.close_ep(1, is_cut, d.now, d.sides[0].out);
    d.pump();
    CHECK(d.sides[0].ep_closed);
    CHECK(d.sides[1].ep_error);
    CHECK(d.sides[1].error_code == refusal::NONE);
    CHECK(d.sides[1].error_cause == (is_cut ? cause::PEER_GAVE_UP : cause::PEER_CLOSED));
    CHECK(d.sides[1].transfers_dead);
}

TEST_CASE("lane: one that cannot be made for no fault of the device is refused with the reason",
          "[core][T08]")
{
    const refusal code = GENERATE(refusal::BAD_ADDRESS, refusal::RESOURCE, refusal::INTERNAL);
    const unsigned at = GENERATE(0u, 1u); // 1 answers, and can tell
    duo d;
    d.sides[at].not_made = code;
    d.fail_lane(0, 0, cause::CONNECTION_RESET);
    for (unsigned i = 0; i < 8; ++i) {
        d.tick();
        CHECK_FALSE(d.lane(0, 0).is_live());
    }
    unsigned told = 0;
    for (const act::send &sent : d.sides[at].sent) {
        const auto *refused = std::get_if<lane_refused_msg>(&sent.msg);
        told += refused != nullptr && refused->code == code ? 1 : 0;
    }
    CHECK((told > 1) == (at == 1));
    d.sides[at].not_made = refusal::NONE;
    for (unsigned i = 0; i < 100 && !d.lane(1, 0).is_live(); ++i) {
        d.tick();
    }
    CHECK(d.lane(0, 0).is_live());
    CHECK(d.sides[0].rail_changes.empty()); // often as it was
    CHECK(d.sides[1].rail_changes.empty());
}

TEST_CASE("lane: after a refusal for its address it is asked for with the address as it is then",
          "[core][G14]")
{
    const std::uint8_t stale[] = {1, 2, 3};
    const std::uint8_t fresh[] = {4, 5, 6, 7};
    duo d;
    REQUIRE(d.sides[0].address.assign(stale));
    d.sides[1].not_made = refusal::BAD_ADDRESS; // the answerer cannot use it
    d.fail_lane(0, 0, cause::CONNECTION_RESET);
    for (unsigned i = 0; i < 8; ++i) {
        d.tick();
    }
    REQUIRE_FALSE(d.lane(0, 0).is_live());
    REQUIRE(d.sides[0].address.assign(fresh)); // what the device says when it is asked again
    d.sides[1].not_made = refusal::NONE;
    for (unsigned i = 0; i < 100 && !d.lane(1, 0).is_live(); ++i) {
        d.tick();
    }
    REQUIRE(d.lane(0, 0).is_live());
    const lane_req_msg *last = nullptr;
    for (const act::send &sent : d.sides[0].sent) {
        const auto *req = std::get_if<lane_req_msg>(&sent.msg);
        last = req != nullptr ? req : last;
    }
    REQUIRE(last != nullptr);
    const auto named = last->address.view();
    CHECK(std::equal(named.begin(), named.end(), std::begin(fresh), std::end(fresh)));
    CHECK(d.sides[0].rail_changes.empty());
}

TEST_CASE("seal: a record is resent until its ack and then released", "[X24][core]")
{
    duo d(1);
    d.holding = true;
    d.fail_lane(0, 0, cause::OWN_QP_ERROR);
    const auto first = count_sent<seal_msg>(d.sides[0]);
    CHECK(first == 1);
    for (unsigned i = 0; i < 8; ++i) {
        d.tick();
    }
    CHECK(count_sent<seal_msg>(d.sides[0]) > first);
    d.holding = false;
    d.pump();
    CHECK(d.sides[0].peer.book().empty());
    CHECK(d.sides[1].peer.book().empty());
    CHECK(d.lane(0, 0).is_live());
}

TEST_CASE("seal: copies of the peer's SEAL are not answered one by one", "[core]")
{
    duo d(1);
    d.holding = true;
    d.fail_lane(0, 0, cause::OWN_QP_ERROR);
    const seal_msg seal = std::get<seal_msg>(d.sides[0].sent.back().msg);
    const auto answers = [&](time_ns later) {
        const auto before = count_sent<seal_msg>(d.sides[1]);
        d.now += later;
        for (unsigned copy = 0; copy < 3; ++copy) {
            d.sides[1].peer.control(seal, d.now, d.sides[1].out);
            d.pump();
        }
        return count_sent<seal_msg>(d.sides[1]) - before;
    };
    CHECK(answers(0) == 1);
    CHECK(answers(seal_book::echo_gap_ns - 1) == 0);
    CHECK(answers(1) == 1);
}

TEST_CASE("lane: the highest epoch that a peer can name does not wrap", "[core]")
{
    duo d(1);
    seal_msg seal;
    seal.lane = {1, 1, 0, max_wire_epoch};
    d.sides[0].peer.control(seal, d.now, d.sides[0].out);
    d.fail_lane(0, 0, cause::OWN_QP_ERROR);
    CHECK(d.lane(0, 0).is_live());
    CHECK(d.lane(0, 0).epoch() == max_wire_epoch + 1);
}

TEST_CASE("judge: a partial PUT resumes at its landed byte, a landed one is OK", "[X02][X19][core]")
{
    duo d;
    d.sides[0].outstanding = {put(1, verdict::LANDED), put(2, verdict::PARTIAL, 4096),
                              put(3, verdict::NOT_LANDED)};
    d.fail_lane(0, 0, cause::CONNECTION_RESET);
    REQUIRE(d.sides[0].done.size() == 1);
    CHECK(d.sides[0].done[0].handle == 1);
    CHECK(d.sides[0].done[0].status == UFX_OK);
    REQUIRE(d.ep(0).frozen().size() == 2);
    CHECK(d.ep(0).frozen()[0].from == 4096);
    CHECK(d.ep(0).frozen()[1].from == 0);
}

TEST_CASE("judge: a read below the token is replayed, never completed", "[X18][core]")
{
    duo d;
    purged_op get;
    get.fragment.kind = op_kind::GET;
    get.fragment.handle = 4;
    get.verdict = verdict::RESULT_LOST;
    d.sides[0].outstanding = {get};
    d.fail_lane(0, 0, cause::CONNECTION_RESET);
    CHECK(d.sides[0].done.empty());
    REQUIRE(d.ep(0).frozen().size() == 1);
    CHECK(d.ep(0).frozen()[0].handle == 4);
}

TEST_CASE("judge: BLIND completes only PUTs ahead of an AM that arrived", "[X25][core]")
{
    for (const bool arrived : {true, false}) {
        duo d;
        d.sides[1].token.grade = grade::BLIND;
        d.sides[1].token.nothing = false;
        d.ep(0).admit_am(50, 1, 0);
        action_list out;
        d.ep(0).am_posted(
            0, 0, true, [&] { return d.now; }, out);
        if (arrived) {
            d.ep(1).rx().arrived(0, 1, 0, 8);
        }
        purged_op am;
        am.fragment.kind = op_kind::AM;
        am.number = 0;
        d.sides[0].outstanding = {put(1, verdict::UNKNOWN), am, put(2, verdict::UNKNOWN)};
        d.fail_lane(0, 0, cause::CONNECTION_RESET);
        CHECK(d.ep(0).frozen().size() == (arrived ? 1U : 2U));
        CHECK(d.ep(0).frozen().back().handle == 2);
    }
}

TEST_CASE("judge: OPEN and polled memory are AMBIGUOUS, never repeated", "[core]")
{
    for (const grade g : {grade::OPEN, grade::BLIND}) {
        duo d;
        d.sides[1].token.grade = g;
        d.sides[1].token.nothing = false;
        purged_op op = put(1, verdict::UNKNOWN);
        op.fragment.polled = g == grade::BLIND;
        d.sides[0].outstanding = {op};
        d.fail_lane(0, 0, cause::CONNECTION_RESET);
        REQUIRE(d.sides[0].done.size() == 1);
        CHECK(d.sides[0].done[0].status == UFX_ERR_AMBIGUOUS);
        CHECK(d.sides[0].done[0].remote_final == (g == grade::BLIND));
    }
}

TEST_CASE("peer: its death ends the ep once, after its lanes are judged", "[X09][core]")
{
    duo d;
    d.sides[0].outstanding = {put(1, verdict::UNKNOWN)};
    d.sides[0].peer.peer_dead(d.now, d.sides[0].out);
    d.pump();
    CHECK(d.sides[0].ep_error);
    REQUIRE(d.sides[0].done.size() == 1);
    CHECK(d.sides[0].done[0].status == UFX_ERR_UNREACHABLE);
    CHECK_FALSE(d.sides[0].done[0].remote_final);
    CHECK(d.sides[0].peer.book().empty());
}

TEST_CASE("ep: modes that differ are refused for ever, with the code, on both sides", "[T08][core]")
{
    duo d(1);
    d.sides[0].peer.open_ep(2, 2, 9, error_mode::FAILOVER, d.now, d.sides[0].out);
    d.sides[1].peer.open_ep(2, 2, 9, error_mode::PEER, d.now, d.sides[1].out);
    d.pump();
    for (duo::side &s : d.sides) {
        CHECK(s.ep_error);
        CHECK(s.error_code == refusal::MODE);
        CHECK(s.peer.find_ep(2)->state() == ep::life::DEAD);
    }
}

TEST_CASE("ep: a request of an unknown ep asks the executor, of a closed one is refused", "[core]")
{
    duo d(1);
    action_list out;
    lane_req_msg req;
    req.lane = {5, 0, 0, 1};
    d.sides[1].peer.control(req, d.now, out);
    REQUIRE(out.size() == 1);
    CHECK(std::holds_alternative<act::incoming_ep>(out[0]));
    out.clear();
    req.lane.dst_ep = 99;
    d.sides[1].peer.control(req, d.now, out);
    REQUIRE(out.size() == 1);
    const auto &refused = std::get<lane_refused_msg>(std::get<act::send>(out[0]).msg);
    CHECK(refused.code == refusal::EP_GONE);
}
