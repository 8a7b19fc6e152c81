// SPDX-License-Identifier: BSD-3-Clause
// Conformance: names of connections and positions of what landed.
#include "harness.h"

#include <catch2/catch.hpp>

using namespace ufx::test;

TEST_CASE("uct: a token that names nothing here, or does not parse, is refused",
          "[conformance][tokens]")
{
    for_each_transport(UFX_UCT_CAP_TOKENS, [](const uct_resource &resource) {
        uct_pair pair(resource);
        std::vector<uint8_t> junk(UFX_UCT_TOKEN_MAX, 0xee);
        uint8_t rx_token[UFX_UCT_TOKEN_MAX];
        size_t length = 0;
        ufx_uct_token_grade_t grade = UFX_UCT_GRADE_EXACT;
        const size_t right = pair.b().attr.token_len;
        REQUIRE(right <= UFX_UCT_TOKEN_MAX);
        CHECK(ufx_uct_iface_query_token(pair.b().iface, junk.data(), right - 1, rx_token, &length,
                                        &grade) == UFX_ERR_BAD_MESSAGE);
        CHECK(ufx_uct_iface_query_token(pair.b().iface, junk.data(), right, rx_token, &length,
                                        &grade) == UFX_ERR_NO_ELEM);
    });
}

TEST_CASE("uct: tokens of two connections are different and live as long as their eps",
          "[conformance][tokens]")
{
    for_each_transport(UFX_UCT_CAP_TOKENS, [](const uct_resource &resource) {
        uct_pair pair(resource);
        const auto second = pair.connect();
        ufx_uct_ep_attr_t one{};
        ufx_uct_ep_attr_t two{};
        one.field_mask = two.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
        REQUIRE(ufx_uct_ep_query(pair.ep, &one) == UFX_OK);
        REQUIRE(ufx_uct_ep_query(second.a, &two) == UFX_OK);
        REQUIRE(one.tx_token_len <= UFX_UCT_TOKEN_MAX);
        const std::vector<uint8_t> first_token(one.tx_token, one.tx_token + one.tx_token_len);
        const std::vector<uint8_t> second_token(two.tx_token, two.tx_token + two.tx_token_len);
        CHECK(first_token != second_token);

        uint8_t rx_token[UFX_UCT_TOKEN_MAX];
        size_t length = 0;
        ufx_uct_token_grade_t grade = UFX_UCT_GRADE_BLIND;
        REQUIRE(ufx_uct_iface_query_token(pair.b().iface, first_token.data(), first_token.size(),
                                          rx_token, &length, &grade) == UFX_OK);
        CHECK(grade == UFX_UCT_GRADE_EXACT);
        CHECK(length == pair.b().attr.token_len);

        // Kept after this side was closed, gone with the ep.
        counted quiet;
        if (ufx_uct_ep_invalidate(pair.peer, &quiet) == UFX_INPROGRESS) {
            REQUIRE(pair.wait([&] { return quiet.done(); }));
        }
        CHECK(ufx_uct_iface_query_token(pair.b().iface, first_token.data(), first_token.size(),
                                        rx_token, &length, &grade) == UFX_OK);
        pair.destroy_eps();
        CHECK(ufx_uct_iface_query_token(pair.b().iface, first_token.data(), first_token.size(),
                                        rx_token, &length, &grade) == UFX_ERR_NO_ELEM);
    });
}
