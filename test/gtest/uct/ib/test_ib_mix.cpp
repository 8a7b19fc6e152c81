// SPDX-License-Identifier: BSD-3-Clause
// All kinds of requests of the RC transports in any mix: with and without completions of their own,
// short and long, flushes and fences between them.
#include "rc_rig.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <random>

using namespace ufx::test;

namespace {

constexpr size_t AREA = 8192;
constexpr uint8_t AM_ID = 5;

// What is expected of the completions of one ep: each once, in the order of posting.
struct order {
    struct one : ufx_uct_completion_t {
        one(order &of, uint64_t place) : ufx_uct_completion_t{}, all(of), number(place)
        {
            func = [](ufx_uct_completion_t *self) noexcept {
                auto *ended = static_cast<one *>(self);
                ended->all.ended.push_back(ended->number);
            };
            count = 1;
            status = UFX_OK;
        }
        order &all;
        uint64_t number;
    };

    ufx_uct_completion_t *next() { return &asked.emplace_back(*this, asked.size()); }

    // The newest was not taken, or is over already.
    void take_back() { asked.pop_back(); }

    [[nodiscard]] bool holds() const
    {
        for (size_t i = 0; i < ended.size(); ++i) {
            if (ended[i] != i) {
                return false;
            }
        }
        return ended.size() <= asked.size();
    }

    std::deque<one> asked;
    std::vector<uint64_t> ended;
};

size_t pack_some(void *to, void *length) noexcept
{
    std::memset(to, 7, *static_cast<size_t *>(length));
    return *static_cast<size_t *>(length);
}

// A burst of random requests; what is refused has no effect.
class poster {
public:
    poster(rc_pair &pair, unsigned seed) : pair_(pair), local_(pair, AREA), random_(seed) {}

    void post()
    {
        const uint64_t to = pair_.target.addr(random_() % 16 * sizeof(uint64_t));
        const ufx_uct_rkey_t rkey = pair_.target.rkey;
        const ufx_uct_iov_t iov = local_.iov(0, 1 + random_() % AREA);
        size_t length = 1 + random_() % 100;
        switch (random_() % 12) {
        case 0:
        case 1:
        case 2:
            static_cast<void>(
                ufx_uct_ep_put_short(pair_.ep, local_.bytes.data(), length, to, rkey));
            break;
        case 3:
        case 4:
            static_cast<void>(
                ufx_uct_ep_am_short(pair_.ep, AM_ID, length, local_.bytes.data(), length % 40));
            break;
        case 5:
            length *= random_() % 20 == 0 ? 40 : 1;
            static_cast<void>(ufx_uct_ep_put_bcopy(pair_.ep, pack_some, &length, to, rkey));
            break;
        case 6:
            static_cast<void>(ufx_uct_ep_put_zcopy(pair_.ep, &iov, 1, to, rkey, nullptr));
            break;
        case 7:
            with_completion([&](ufx_uct_completion_t *comp) {
                return ufx_uct_ep_put_zcopy(pair_.ep, &iov, 1, to, rkey, comp);
            });
            break;
        case 8:
            with_completion([&](ufx_uct_completion_t *comp) {
                return ufx_uct_ep_get_zcopy(pair_.ep, &iov, 1, to, rkey, comp);
            });
            break;
        case 9:
            with_completion([&](ufx_uct_completion_t *comp) {
                return ufx_uct_ep_get_short(pair_.ep, &answer_, sizeof(answer_), to, rkey, comp);
            });
            break;
        case 10:
            with_completion([&](ufx_uct_completion_t *comp) {
                const bool remote = random_() % 2 == 0;
                return ufx_uct_ep_flush(pair_.ep, remote ? unsigned{UFX_UCT_FLUSH_REMOTE} : 0,
                                        comp);
            });
            break;
        default:
            static_cast<void>(ufx_uct_ep_fence(pair_.ep));
        }
    }

    order expected;

private:
    template <class Post>
    void with_completion(Post &&post)
    {
        if (post(expected.next()) != UFX_INPROGRESS) {
            expected.take_back();
        }
    }

    rc_pair &pair_;
    local_memory local_;
    std::mt19937 random_;
    uint64_t answer_ = 0;
};

} // namespace

TEST_CASE("rc: in any mix of requests each completion comes once and in its turn", "[.][hca]")
{
    for_each_rc([](const uct_resource &resource) {
        for (const auto &[moderation, blueflame] : {std::pair("1", "n"), std::pair("2", "n"),
                                                    std::pair("5", "y"), std::pair("64", "n")}) {
            const rc_setting some(resource, "TX_MODERATION", moderation);
            const rc_setting doorbell(resource, "BLUEFLAME", blueflame);
            rc_pair pair(resource, 2 * AREA);
            inbox received(pair.b().iface, AM_ID);
            for (const unsigned seed : {1u, 2u, 3u}) {
                poster work(pair, seed);
                for (int round = 0; round < 60; ++round) {
                    for (unsigned burst = (seed * 17 + static_cast<unsigned>(round) * 7) % 50;
                         burst > 0; --burst) {
                        work.post();
                    }
                    pair.turn(round % 3);
                    REQUIRE(work.expected.holds());
                }
                pair.flush();
                CHECK(work.expected.holds());
                CHECK(work.expected.ended.size() == work.expected.asked.size());
                CHECK(outstanding(pair.ep) == 0);
            }
            CHECK(pair.a().errors == 0);
        }
    });
}

TEST_CASE("rc: an ep that is closed behind requests without completions becomes quiet in time",
          "[.][hca][U02]")
{
    for_each_rc([](const uct_resource &resource) {
        rc_pair pair(resource, 4096);
        const uint64_t value = 1;
        for (int i = 0; i < 3; ++i) {
            REQUIRE(ufx_uct_ep_put_short(pair.ep, &value, sizeof(value), pair.target.addr(),
                                         pair.target.rkey) == UFX_OK);
        }
        pair.turn(20);
        counted quiet;
        REQUIRE(ufx_uct_ep_invalidate(pair.ep, &quiet) == UFX_INPROGRESS);
        REQUIRE(pair.wait([&] { return quiet.done(); }));
        CHECK(quiet.result == UFX_OK); // it was not given up
    });
}
