// SPDX-License-Identifier: BSD-3-Clause
// Local memory that cannot be read or written costs the operation that named it and no other.
#include "data_pair.h"

#include "ucs/guarded_copy.h"
#include "ucs/mapping.h"

#include <ufx/ucs.h>

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::waiter;
namespace ucs = ufx::ucs;

namespace {

constexpr std::uint16_t am_id = 3;
constexpr std::size_t guilty_at = 1
                                  << 20; // in the peer's memory; the others' are in the first 64 KB

// Pages of which all, or those from the middle on, cannot be accessed.
class closed_pages {
public:
    explicit closed_pages(std::size_t length, bool half = false)
        : length_((length + page - 1) / page * page),
          at_(::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    {
        REQUIRE(at_ != MAP_FAILED);
        if (half) {
            REQUIRE(::mprotect(bytes() + length_ / 2 / page * page, length_ / 2, PROT_NONE) == 0);
        }
    }
    ~closed_pages() { ::munmap(at_, length_); }
    closed_pages(const closed_pages &) = delete;
    closed_pages &operator=(const closed_pages &) = delete;

    void close() { REQUIRE(::mprotect(at_, length_, PROT_NONE) == 0); }
    std::byte *bytes() const { return static_cast<std::byte *>(at_); }

private:
    static constexpr std::size_t page = 4096;
    std::size_t length_;
    void *at_;
};

// Puts and gets around the guilty operation, which must not notice anything.
struct innocents {
    explicit innocents(pair &with) : p(with), out(count * size), in(count * size)
    {
        fill(out.data(), out.size(), 7);
        fill(p.b.memory + out.size(), in.size(), 9);
    }
    void post(std::size_t from, std::size_t to)
    {
        for (std::size_t i = from; i < to; ++i) {
            puts[i].posted(ufx_ucp_put(p.a.ep, out.data() + i * size, size,
                                       p.a.peer_addr + i * size, p.a.peer_key, &puts[i].params,
                                       nullptr));
            gets[i].posted(ufx_ucp_get(p.a.ep, in.data() + i * size, size,
                                       p.a.peer_addr + out.size() + i * size, p.a.peer_key,
                                       &gets[i].params, nullptr));
        }
    }
    void check()
    {
        for (std::size_t i = 0; i < count; ++i) {
            REQUIRE(p.until([&] { return puts[i].is_done() && gets[i].is_done(); }));
            CHECK(puts[i].status == UFX_OK);
            CHECK(gets[i].status == UFX_OK);
        }
        CHECK(first_difference(p.b.memory, out.size(), 7) == out.size());
        CHECK(first_difference(in.data(), in.size(), 9) == in.size());
        CHECK(p.a.events.empty());
        CHECK(p.b.events.empty());
    }

    static constexpr std::size_t count = 8;
    static constexpr std::size_t size = 1000;
    pair &p;
    std::vector<std::byte> out;
    std::vector<std::byte> in;
    waiter puts[count];
    waiter gets[count];
};

struct receiver {
    explicit receiver(pair &with) : p(with)
    {
        REQUIRE(ufx_ucp_worker_set_am_handler(p.b.worker, am_id, on_am, this) == UFX_OK);
    }
    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        auto &self = *static_cast<receiver *>(arg);
        ++self.messages;
        if ((am->flags & UFX_UCP_AM_RNDV) == 0) {
            return UFX_OK;
        }
        self.fetched.posted(ufx_ucp_am_recv_data(self.p.b.worker, am->data, self.to, am->length,
                                                 &self.fetched.params, nullptr));
        return UFX_OK;
    }

    pair &p;
    void *to = nullptr;
    unsigned messages = 0;
    waiter fetched;
};

} // namespace

TEST_CASE("guarded copy: what cannot be accessed is an answer", "[data]")
{
    closed_pages none(4096);
    char own[8] = "seven77";
    char back[8] = "";
    CHECK(ucs::guarded_write(none.bytes(), own, sizeof(own)));
    CHECK(ucs::guarded_read(back, none.bytes(), sizeof(back)));
    CHECK(std::memcmp(own, back, sizeof(own)) == 0);
    none.close();
    CHECK_FALSE(ucs::guarded_write(none.bytes(), own, sizeof(own)));
    CHECK_FALSE(ucs::guarded_read(back, none.bytes(), sizeof(back)));
    CHECK_FALSE(ucs::guarded_write(none.bytes() - 4, own, sizeof(own)));
}

TEST_CASE("tcp: a put or get with memory that cannot be accessed costs only itself", "[data][tcp]")
{
    pair p;
    const auto size = GENERATE(as<std::size_t>(), 8, 600, 4096, 128 * 1024, 2 << 20);
    const bool is_put = GENERATE(true, false);
    const bool half = GENERATE(false, true);
    const closed_pages none(std::max<std::size_t>(size, 8192), half);
    if (!half) {
        const_cast<closed_pages &>(none).close();
    }
    // Of half a mapping the operation's last bytes are behind its middle.
    std::byte *local = none.bytes() + (half && size < 8192 ? 4096 - size / 2 : 0);
    innocents others(p);
    waiter bad;
    others.post(0, innocents::count / 2);
    bad.posted(is_put ? ufx_ucp_put(p.a.ep, local, size, p.a.peer_addr + guilty_at, p.a.peer_key,
                                    &bad.params, nullptr)
                      : ufx_ucp_get(p.a.ep, local, size, p.a.peer_addr + guilty_at, p.a.peer_key,
                                    &bad.params, nullptr));
    others.post(innocents::count / 2, innocents::count);
    CAPTURE(size, is_put, half);
    REQUIRE(p.until_done(bad));
    CHECK(bad.status == UFX_ERR_LOCAL_PROT);
    others.check();
}

TEST_CASE("tcp: a message whose memory goes before it is posted costs only itself", "[data][tcp]")
{
    pair p;
    receiver at_b(p);
    const auto size = GENERATE(as<std::size_t>(), 8, 600, 100 * 1024);
    closed_pages buffer(size);
    innocents others(p);
    waiter bad;
    waiter good;
    others.post(0, innocents::count);
    REQUIRE(ufx_ucp_ep_fence(p.a.ep) == UFX_OK); // it waits
    bad.posted(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, buffer.bytes(), size,
                               bad.with_flags(UFX_UCP_OP_AM_EAGER), nullptr));
    good.posted(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, "x", 1, &good.params, nullptr));
    buffer.close();
    REQUIRE(p.until_done(bad));
    CHECK(bad.status == UFX_ERR_LOCAL_PROT);
    REQUIRE(p.until_done(good));
    CHECK(good.status == UFX_OK);
    REQUIRE(p.until([&] { return at_b.messages != 0; }));
    CHECK(at_b.messages == 1);
    others.check();
}

TEST_CASE("tcp: a rendezvous says whose memory cannot be accessed", "[data][tcp]")
{
    pair p;
    receiver at_b(p);
    const auto size = GENERATE(as<std::size_t>(), 100, 3 << 20);
    const bool is_senders = GENERATE(true, false);
    closed_pages from(size);
    closed_pages to(size);
    at_b.to = to.bytes();
    (is_senders ? from : to).close();
    innocents others(p);
    waiter sent;
    others.post(0, innocents::count / 2);
    sent.posted(ufx_ucp_am_send(p.a.ep, am_id, nullptr, 0, from.bytes(), size,
                                sent.with_flags(UFX_UCP_OP_AM_RNDV), nullptr));
    others.post(innocents::count / 2, innocents::count);
    CAPTURE(size, is_senders);
    REQUIRE(p.until_done(sent));
    REQUIRE(p.until_done(at_b.fetched));
    CHECK(sent.status == (is_senders ? UFX_ERR_LOCAL_PROT : UFX_ERR_REMOTE_ACCESS));
    CHECK(at_b.fetched.status == (is_senders ? UFX_ERR_REMOTE_ACCESS : UFX_ERR_LOCAL_PROT));
    others.check();
}

TEST_CASE("ucp: the result of an atomic that cannot be written ends it with LOCAL_PROT", "[data]")
{
    pair p;
    closed_pages none(8);
    none.close();
    waiter w;
    w.posted(ufx_ucp_atomic(p.a.ep, UFX_UCP_ATOMIC_ADD, 1, 0, 8, none.bytes(), p.a.peer_addr,
                            p.a.peer_key, &w.params, nullptr));
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_LOCAL_PROT);
    CHECK(p.a.events.empty());
}
