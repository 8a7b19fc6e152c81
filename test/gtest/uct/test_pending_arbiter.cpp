// SPDX-License-Identifier: BSD-3-Clause
// The pending queue: order per ep, fairness among eps, bounded tries.
#include "uct/base/pending.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace ufx::uct;

namespace {

struct named : ufx_uct_pending_req_t {
    explicit named(char text) : ufx_uct_pending_req_t{}, name(text) {}
    char name;
};

} // namespace

TEST_CASE("pending: groups take turns, each in its own order")
{
    pending_arbiter arbiter;
    int owner_a = 0;
    int owner_b = 0;
    pending_group a(&owner_a);
    pending_group b(&owner_b);
    named requests[] = {named('1'), named('2'), named('3'), named('x'), named('y')};
    for (int i = 0; i < 3; ++i) {
        arbiter.add(a, &requests[i]);
    }
    arbiter.add(b, &requests[3]);
    arbiter.add(b, &requests[4]);
    CHECK(arbiter.size() == 5);
    CHECK(a.size() == 3);
    std::string order;
    unsigned finished = arbiter.dispatch([&](pending_group &group, ufx_uct_pending_req_t *req) {
        CHECK((group.owner() == &owner_a || group.owner() == &owner_b));
        order += static_cast<named *>(req)->name;
        return pending_turn::finished;
    });
    CHECK(order == "1x2y3");
    CHECK(finished == 5);
    CHECK(arbiter.empty());
}

TEST_CASE("pending: a head that stays blocks its group only, and is tried once a call", "[L05]")
{
    pending_arbiter arbiter;
    pending_group a(nullptr);
    pending_group b(nullptr);
    named stuck('s');
    named behind('t');
    named other('o');
    arbiter.add(a, &stuck);
    arbiter.add(a, &behind);
    arbiter.add(b, &other);
    std::string order;
    auto turn = [&](pending_group &, ufx_uct_pending_req_t *req) {
        order += static_cast<named *>(req)->name;
        return req == &stuck ? pending_turn::stays : pending_turn::finished;
    };
    CHECK(arbiter.dispatch(turn) == 1);
    CHECK(order == "so");
    CHECK(arbiter.dispatch(turn) == 0);
    CHECK(order == "sos");
    CHECK(arbiter.size() == 2);
    CHECK(arbiter.take(a) == &stuck);
    CHECK(arbiter.dispatch(turn) == 1);
    CHECK(order == "sost");
}

TEST_CASE("pending: a request that parks a new one does not make dispatch endless", "[L05]")
{
    pending_arbiter arbiter;
    pending_group a(nullptr);
    named request('r');
    arbiter.add(a, &request);
    int tries = 0;
    CHECK(arbiter.dispatch([&](pending_group &group, ufx_uct_pending_req_t *req) {
        ++tries;
        arbiter.add(group, req);
        return pending_turn::finished;
    }) == 1);
    CHECK(tries == 1);
    CHECK(arbiter.size() == 1);
}

TEST_CASE("pending: a group may be cleared while one of its requests runs")
{
    pending_arbiter arbiter;
    pending_group a(nullptr);
    pending_group b(nullptr);
    named one('1');
    named two('2');
    named other('o');
    arbiter.add(a, &one);
    arbiter.add(a, &two);
    arbiter.add(b, &other);
    std::string order;
    arbiter.dispatch([&](pending_group &group, ufx_uct_pending_req_t *req) {
        order += static_cast<named *>(req)->name;
        if (&group == &a) {
            arbiter.clear(a);
            return pending_turn::gone;
        }
        return pending_turn::finished;
    });
    CHECK(order == "1o");
    CHECK(arbiter.empty());
    CHECK(arbiter.size() == 0);
}
