// SPDX-License-Identifier: BSD-3-Clause
// Random operations under random faults, against a model of the target's memory.
#include "data_pair.h"

#include "ucs/prng.h"

#include <cstdlib>
#include <iostream>
#include <list>
#include <random>

using ufx::test::pair;
using ufx::test::pair_options;
using ufx::test::waiter;

namespace {

constexpr std::size_t cell = 64 * 1024; // puts and gets touch runs of cells
constexpr std::size_t cells = 32;
constexpr std::size_t counters_at = cells * cell;
constexpr std::size_t counters = 8;
constexpr unsigned operations = 600;
constexpr unsigned in_flight = 24;

std::uint64_t choose_seed()
{
    if (const char *given = std::getenv("UFX_TEST_SEED")) {
        return std::strtoull(given, nullptr, 0);
    }
    return std::random_device{}();
}

// One operation of the run, its buffer, and what must come out of it.
struct running {
    enum class kind { PUT, GET, AM, ADD } what{};
    std::size_t first = 0; // cell or counter
    std::size_t count = 0;
    std::vector<std::byte> buffer;
    std::vector<std::byte> expected;
    std::uint64_t before = 0;
    std::uint64_t operand = 0;
    waiter w;
};

class model {
public:
    explicit model(std::uint64_t seed) : random_(seed), pair_(options())
    {
        memory_.resize(cells * cell);
        std::memset(pair_.b.memory, 0, memory_.size() + counters * 8);
        busy_.resize(cells);
        sums_.resize(counters);
        REQUIRE(ufx_ucp_worker_set_am_handler(pair_.b.worker, 1, on_am, this) == UFX_OK);
    }

    void run()
    {
        unsigned posted = 0;
        while (posted < operations) {
            if (open_.size() < in_flight) {
                post();
                ++posted;
            }
            if (random_.below(12) == 0) {
                change_link();
            }
            for (std::uint64_t i = random_.below(6); i > 0; --i) {
                pair_.progress();
            }
            reap();
        }
        for (ufx::test::side *s : {&pair_.a, &pair_.b}) {
            pair_.set_link(*s, "rail0", true);
            pair_.set_link(*s, "rail1", true);
        }
        REQUIRE(pair_.until([&] {
            reap();
            return open_.empty();
        }));
        check();
    }

private:
    static pair_options options()
    {
        pair_options o;
        o.config.push_back({"RAIL_HOLDOFF", "20ms"});
        // On a slow machine all links may be down for long: that is not the peer's death.
        o.config.push_back({"PEER_TIMEOUT", "600s"});
        return o;
    }

    void post()
    {
        running &r = open_.emplace_back();
        switch (random_.below(4)) {
        case 0:
            post_move(r, running::kind::PUT);
            break;
        case 1:
            post_move(r, running::kind::GET);
            break;
        case 2:
            post_am(r);
            break;
        default:
            post_add(r);
            break;
        }
    }

    void post_move(running &r, running::kind what)
    {
        r.what = what;
        r.first = random_.below(cells);
        r.count = 1 + random_.below(8);
        for (std::size_t i = 0; i < r.count; ++i) {
            if (r.first + i >= cells || busy_[r.first + i]) {
                r.count = i;
                break;
            }
        }
        if (r.count == 0) {
            post_am(r);
            return;
        }
        std::fill_n(busy_.begin() + static_cast<std::ptrdiff_t>(r.first), r.count, true);
        const std::size_t at = r.first * cell;
        const std::size_t length = r.count * cell;
        r.buffer.resize(length);
        if (what == running::kind::PUT) {
            const unsigned seed = ++seed_;
            ufx::test::fill(r.buffer.data(), length, seed);
            std::memcpy(memory_.data() + at, r.buffer.data(), length);
            r.w.posted(ufx_ucp_put(pair_.a.ep, r.buffer.data(), length, pair_.a.peer_addr + at,
                                   pair_.a.peer_key, &r.w.params, nullptr));
        } else {
            r.expected.assign(memory_.data() + at, memory_.data() + at + length);
            r.w.posted(ufx_ucp_get(pair_.a.ep, r.buffer.data(), length, pair_.a.peer_addr + at,
                                   pair_.a.peer_key, &r.w.params, nullptr));
        }
    }

    void post_am(running &r)
    {
        r.what = running::kind::AM;
        r.count = 0;
        r.buffer.resize(8 + random_.below(40000));
        const std::uint64_t number = sent_++;
        ufx::test::fill(r.buffer.data(), r.buffer.size(), static_cast<unsigned>(number));
        std::memcpy(r.buffer.data(), &number, sizeof(number));
        r.w.posted(ufx_ucp_am_send(pair_.a.ep, 1, nullptr, 0, r.buffer.data(), r.buffer.size(),
                                   r.w.with_flags(UFX_UCP_OP_AM_EAGER), nullptr));
    }

    void post_add(running &r)
    {
        r.what = running::kind::ADD;
        r.first = random_.below(counters);
        r.operand = random_.below(1000);
        r.before = ~std::uint64_t{0};
        // Atomics of one ep are executed in order, so the value before is known.
        r.expected.resize(8);
        std::memcpy(r.expected.data(), &sums_[r.first], 8);
        sums_[r.first] += r.operand;
        r.w.posted(ufx_ucp_atomic(pair_.a.ep, UFX_UCP_ATOMIC_ADD, r.operand, 0, 8, &r.before,
                                  pair_.a.peer_addr + counters_at + r.first * 8, pair_.a.peer_key,
                                  &r.w.params, nullptr));
    }

    void change_link()
    {
        ufx::test::side &at = random_.below(2) == 0 ? pair_.a : pair_.b;
        pair_.set_link(at, random_.below(2) == 0 ? "rail0" : "rail1", random_.below(3) != 0);
    }

    void reap()
    {
        for (auto it = open_.begin(); it != open_.end();) {
            if (!it->w.is_done()) {
                ++it;
                continue;
            }
            finish(*it);
            it = open_.erase(it);
        }
    }

    void finish(running &r)
    {
        bad_status_ += r.w.status == UFX_OK ? 0 : 1;
        twice_ += r.w.calls == 1 ? 0 : 1;
        if (r.what == running::kind::PUT || r.what == running::kind::GET) {
            std::fill_n(busy_.begin() + static_cast<std::ptrdiff_t>(r.first), r.count, false);
        }
        if (r.what == running::kind::GET) {
            wrong_data_ += r.buffer == r.expected ? 0 : 1;
        }
        if (r.what == running::kind::ADD) {
            wrong_data_ += std::memcmp(&r.before, r.expected.data(), 8) == 0 ? 0 : 1;
        }
    }

    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<model *>(arg);
        std::uint64_t number = 0;
        const auto *data = static_cast<const std::byte *>(am->data);
        std::memcpy(&number, data, sizeof(number));
        self.out_of_order_ += number == self.received_ ? 0 : 1;
        ++self.received_;
        for (std::size_t i = 8; i < am->length; ++i) {
            if (data[i] != ufx::test::pattern(i, static_cast<unsigned>(number))) {
                ++self.wrong_data_;
                break;
            }
        }
        return UFX_OK;
    }

    void check()
    {
        CHECK(pair_.until([&] { return received_ == sent_; }));
        CHECK(out_of_order_ == 0);
        CHECK(bad_status_ == 0);
        CHECK(twice_ == 0);
        CHECK(wrong_data_ == 0);
        CHECK(std::memcmp(memory_.data(), pair_.b.memory, memory_.size()) == 0);
        CHECK(std::memcmp(sums_.data(), pair_.b.memory + counters_at, counters * 8) == 0);
        CHECK(pair_.a.events.empty());
    }

    ufx::ucs::prng random_;
    pair pair_;
    std::vector<std::byte> memory_;
    std::vector<bool> busy_;
    std::vector<std::uint64_t> sums_;
    std::list<running> open_;
    unsigned seed_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    unsigned out_of_order_ = 0;
    unsigned bad_status_ = 0;
    unsigned twice_ = 0;
    unsigned wrong_data_ = 0;
};

} // namespace

TEST_CASE("ucp: random operations under random faults leave the memory that a model predicts",
          "[data][failover][tcp][X08]")
{
    const std::uint64_t seed = choose_seed();
    std::cout << "UFX_TEST_SEED=" << seed << std::endl;
    INFO("UFX_TEST_SEED=" << seed);
    model m(seed);
    m.run();
}
