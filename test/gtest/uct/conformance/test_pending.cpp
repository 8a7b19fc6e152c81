// SPDX-License-Identifier: BSD-3-Clause
// Conformance: requests that wait for resources.
#include "harness.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <map>

using namespace ufx::test;

namespace {

constexpr uint64_t basic = UFX_UCT_CAP_PENDING | UFX_UCT_CAP_AM_SHORT;

// A parked message: its number is the am header.
struct parked : ufx_uct_pending_req_t {
    parked(ufx_uct_ep_h to, uint64_t number) : ufx_uct_pending_req_t{}, ep(to), value(number)
    {
        func = [](ufx_uct_pending_req_t *self) noexcept -> ufx_status_t {
            auto *request = static_cast<parked *>(self);
            ++request->tries;
            ufx_status_t status = ufx_uct_ep_am_short(request->ep, 1, request->value, nullptr, 0);
            request->sent = request->sent || status == UFX_OK;
            return status;
        };
    }

    ufx_uct_ep_h ep;
    uint64_t value;
    int tries = 0;
    bool sent = false;
};

uint64_t number_of(const std::vector<std::byte> &message)
{
    uint64_t value = 0;
    std::memcpy(&value, message.data(), 8);
    return value;
}

// Posts numbered messages until there is no resource; returns how many were accepted.
uint64_t fill(ufx_uct_ep_h ep, uint64_t first)
{
    uint64_t number = first;
    while (ufx_uct_ep_am_short(ep, 1, number, nullptr, 0) == UFX_OK) {
        ++number;
        REQUIRE(number < first + (1u << 20));
    }
    return number - first;
}

} // namespace

TEST_CASE("uct: pending_add says BUSY while there are resources", "[conformance][pending]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        parked request(pair.ep, 1);
        CHECK(ufx_uct_ep_pending_add(pair.ep, &request) == UFX_ERR_BUSY);
        pair.turn(10);
        CHECK(request.tries == 0);
    });
}

TEST_CASE("uct: parked requests go in order and nothing overtakes them",
          "[conformance][pending][L07]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        uint64_t next = fill(pair.ep, 0);
        REQUIRE(next > 0);
        std::vector<std::unique_ptr<parked>> requests;
        for (int i = 0; i < 100; ++i) {
            requests.push_back(std::make_unique<parked>(pair.ep, next++));
            REQUIRE(ufx_uct_ep_pending_add(pair.ep, requests.back().get()) == UFX_OK);
        }
        CHECK(pair.a().stats().pending_reqs == 100); // L13: the depth is visible
        uint64_t overtaking = 0;
        REQUIRE(pair.wait([&] {
            // A user's post while the queue is not empty never goes through.
            if (!requests.back()->sent) {
                overtaking +=
                    ufx_uct_ep_am_short(pair.ep, 1, 1u << 30, nullptr, 0) != UFX_ERR_NO_RESOURCE;
            }
            return requests.back()->sent;
        }));
        CHECK(overtaking == 0);
        REQUIRE(pair.wait([&] { return received.messages.size() >= next; }));
        REQUIRE(received.messages.size() == next);
        for (uint64_t i = 0; i < next; ++i) {
            REQUIRE(number_of(received.messages[i]) == i);
        }
        CHECK(pair.a().stats().pending_reqs == 0);
        CHECK(ufx_uct_ep_am_short(pair.ep, 1, 0, nullptr, 0) == UFX_OK);
    });
}

TEST_CASE("uct: one progress call tries a parked request at most once",
          "[conformance][pending][L05]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        fill(pair.ep, 0);
        // It never finds a resource, as if the queue were full for ever.
        struct stuck : ufx_uct_pending_req_t {
            int tries = 0;
        } request{};
        request.func = [](ufx_uct_pending_req_t *self) noexcept -> ufx_status_t {
            ++static_cast<stuck *>(self)->tries;
            return UFX_ERR_NO_RESOURCE;
        };
        parked behind(pair.ep, 7);
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &request) == UFX_OK);
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &behind) == UFX_OK);
        int most = 0;
        for (int i = 0; i < 200; ++i) {
            const int before = request.tries;
            pair.progress();
            most = std::max(most, request.tries - before);
        }
        CHECK(most == 1);
        CHECK(behind.tries == 0);
        ufx_uct_ep_pending_purge(pair.ep, nullptr, nullptr);
    });
}

TEST_CASE("uct: eps get their turns fairly", "[conformance][pending]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        const auto second = pair.connect();
        fill(pair.ep, 0);
        fill(second.a, 0);
        std::vector<std::unique_ptr<parked>> first_requests;
        std::vector<std::unique_ptr<parked>> second_requests;
        for (int i = 0; i < 50; ++i) {
            first_requests.push_back(std::make_unique<parked>(pair.ep, 1));
            REQUIRE(ufx_uct_ep_pending_add(pair.ep, first_requests.back().get()) == UFX_OK);
        }
        second_requests.push_back(std::make_unique<parked>(second.a, 2));
        REQUIRE(ufx_uct_ep_pending_add(second.a, second_requests.back().get()) == UFX_OK);
        REQUIRE(pair.wait([&] { return second_requests[0]->sent && first_requests.back()->sent; }));
        // The single request of the second ep was not behind all of the first one's.
        CHECK(second_requests[0]->tries >= 1);
        CHECK(first_requests.back()->tries >= 1);
    });
}

TEST_CASE("uct: pending_purge gives the requests back in order", "[conformance][pending]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        fill(pair.ep, 0);
        parked one(pair.ep, 1);
        parked two(pair.ep, 2);
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &one) == UFX_OK);
        REQUIRE(ufx_uct_ep_pending_add(pair.ep, &two) == UFX_OK);
        std::vector<ufx_uct_pending_req_t *> given;
        ufx_uct_ep_pending_purge(
            pair.ep,
            [](ufx_uct_pending_req_t *request, void *arg) noexcept {
                static_cast<std::vector<ufx_uct_pending_req_t *> *>(arg)->push_back(request);
            },
            &given);
        REQUIRE(given.size() == 2);
        CHECK(given[0] == &one);
        CHECK(given[1] == &two);
        pair.flush();
        CHECK(one.tries == 0);
        CHECK(pair.wait([&] { return ufx_uct_ep_am_short(pair.ep, 1, 0, nullptr, 0) == UFX_OK; }));
    });
}

TEST_CASE("uct: a parked request may free itself and park another one", "[conformance][pending]")
{
    for_each_transport(basic, [](const uct_resource &resource) {
        uct_pair pair(resource);
        inbox received(pair.b().iface, 1);
        const uint64_t accepted = fill(pair.ep, 0);
        struct chain : ufx_uct_pending_req_t {
            ufx_uct_ep_h ep;
            int left;
            int *finished;
        };
        int finished = 0;
        auto make = [&](int left) {
            auto *request = new chain{};
            request->ep = pair.ep;
            request->left = left;
            request->finished = &finished;
            request->func = [](ufx_uct_pending_req_t *self) noexcept -> ufx_status_t {
                auto *link = static_cast<chain *>(self);
                if (ufx_uct_ep_am_short(link->ep, 1, 1, nullptr, 0) != UFX_OK) {
                    return UFX_ERR_NO_RESOURCE;
                }
                ++*link->finished;
                delete link;
                return UFX_OK;
            };
            return request;
        };
        for (int i = 0; i < 3; ++i) {
            REQUIRE(ufx_uct_ep_pending_add(pair.ep, make(i)) == UFX_OK);
        }
        REQUIRE(pair.wait([&] { return received.messages.size() == accepted + 3; }));
        CHECK(finished == 3);
    });
}
