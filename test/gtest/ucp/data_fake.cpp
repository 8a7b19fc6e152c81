// SPDX-License-Identifier: BSD-3-Clause
// Failover at chosen packets: two rails of the scripted transport, one operation, one exact fault.
#include "data_fake_pair.h"

#include "ucs/fake_clock.h"

#include <deque>
#include <string_view>

using ufx::test::fake_pair;
using ufx::test::fill;
using ufx::test::first_difference;
using ufx::test::pair;
using ufx::test::waiter;
using ufx::uct::fake::valve;

namespace {

constexpr std::size_t mtu = fake_pair::mtu;

// What arrived, in order.
struct inbox {
    std::vector<std::string> texts;

    explicit inbox(ufx_ucp_worker_h worker)
    {
        REQUIRE(ufx_ucp_worker_set_am_handler(worker, 1, on_am, this) == UFX_OK);
    }
    static ufx_status_t on_am(void *arg, const ufx_ucp_am_t *am) noexcept
    {
        static_cast<inbox *>(arg)->texts.emplace_back(static_cast<const char *>(am->data),
                                                      am->length);
        return UFX_OK;
    }
};

// The bytes of `text` outlive the message.
void send(pair &p, waiter &w, std::string_view text, ufx_ucp_request_h *request = nullptr)
{
    w.posted(ufx_ucp_am_send(p.a.ep, 1, nullptr, 0, text.data(), text.size(), &w.params, request));
}

void put(pair &p, waiter &w, const std::vector<std::byte> &from)
{
    w.posted(ufx_ucp_put(p.a.ep, from.data(), from.size(), p.a.peer_addr, p.a.peer_key, &w.params,
                         nullptr));
}

} // namespace

TEST_CASE("ucp: a message that died on one rail and the next one that passed on another both "
          "arrive, once and in order",
          "[data][fake][X01][X10]")
{
    fake_pair p;
    inbox in(p.b.worker);
    p.own(0).data.hold();
    const std::vector<std::string> texts = {"first", "second", "third"};
    std::deque<waiter> waiters(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        send(p, waiters[i], texts[i]);
    }
    p.rounds(50);
    CHECK(in.texts.empty()); // the first one is held on its rail
    p.break_lane(0);
    p.own(0).data.lose();
    REQUIRE(p.until([&] { return in.texts.size() == texts.size(); }));
    CHECK(in.texts == texts);
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
    }
    p.own(0).data.open();
    p.rounds(200);
    CHECK(in.texts == texts);
}

TEST_CASE("ucp: a message that its transport let go of is outstanding until the peer has it",
          "[data][fake]")
{
    fake_pair p("ZCOPY_THRESH", "1k");
    inbox in(p.b.worker);
    for (const unsigned rail : {0U, 1U}) {
        p.peers(rail).data.hold(); // what tells the sender that a message has arrived
    }
    ufx::ucp::worker::of(p.b.worker).control().filter.copies = [](auto, const auto &) { return 0; };
    const std::vector<std::string> texts = {std::string(3000, 'a'), std::string(3000, 'b')};
    std::deque<waiter> waiters(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        send(p, waiters[i], texts[i]);
    }
    p.rounds(50);
    CHECK(in.texts == texts);
    const auto outstanding = [&] {
        ufx_ucp_rail_attr_t rails[UFX_UCP_RAILS_MAX];
        std::size_t count = UFX_UCP_RAILS_MAX;
        REQUIRE(ufx_ucp_worker_query_rails(p.a.worker, rails, &count) == UFX_OK);
        return rails[0].outstanding + rails[1].outstanding;
    };
    CHECK(outstanding() == 2);
    for (const unsigned rail : {0U, 1U}) {
        p.peers(rail).data.open();
    }
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
    }
    CHECK(outstanding() == 0);
}

TEST_CASE("ucp: a buffer that was not mapped is registered for its operation, if its device needs "
          "that",
          "[data][fake]")
{
    fake_pair p(0, true);
    inbox in(p.b.worker);
    const std::size_t before = ufx::uct::fake::registrations();
    CHECK(ufx::uct::fake::cacheable_registrations() == 0); // what is mapped is for peers
    std::vector<std::byte> local(40 * mtu);
    fill(local.data(), local.size(), 1);
    waiter written, read, sent, listed;
    put(p, written, local);
    const std::string text(20 * mtu, 't');
    send(p, sent, text);
    REQUIRE(p.until_done(written));
    REQUIRE(p.until([&] { return in.texts.size() == 1; }));
    CHECK(in.texts[0] == text);
    CHECK(first_difference(p.b.memory, local.size(), 1) == local.size());
    std::vector<std::byte> back(local.size());
    read.posted(ufx_ucp_get(p.a.ep, back.data(), back.size(), p.a.peer_addr, p.a.peer_key,
                            &read.params, nullptr));
    REQUIRE(p.until_done(read));
    CHECK(back == local);
    const ufx_ucp_transfer_t parts[] = {
        {back.data(), p.a.peer_addr + 5, 100, p.a.peer_key, nullptr},
        {back.data() + mtu, p.a.peer_addr + 5 * mtu, 2 * mtu, p.a.peer_key, nullptr}};
    listed.posted(
        ufx_ucp_put_list(p.a.ep, parts, std::size(parts), nullptr, &listed.params, nullptr));
    REQUIRE(p.until_done(listed));
    REQUIRE(p.until_done(sent));
    CHECK(ufx::uct::fake::cacheable_registrations() == 5); // two of the list
    for (const waiter *w : {&written, &read, &sent, &listed}) {
        CHECK(w->status == UFX_OK);
    }
    CHECK(ufx::uct::fake::registrations() == before);
}

TEST_CASE("ucp: a mapped message of any length is sent, also when it has to wait", "[data][fake]")
{
    fake_pair p(0, true);
    inbox in(p.b.worker);
    std::string text(20 * mtu, 't');
    ufx_ucp_mem_params_t memory{};
    memory.field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH;
    memory.address = text.data();
    memory.length = text.size();
    ufx_ucp_mem_h mapped = nullptr;
    REQUIRE(ufx_ucp_mem_map(p.a.context, &memory, &mapped) == UFX_OK);
    std::vector<std::size_t> lengths;
    for (std::size_t length = 1; length <= text.size(); length += 97) {
        lengths.push_back(length);
    }
    for (const unsigned rail : {0U, 1U}) {
        p.own(rail).no_resource = true; // nothing is posted by its own call
    }
    std::deque<waiter> waiters(lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        waiter &w = waiters[i];
        w.params.field_mask |= UFX_UCP_OP_PARAM_MEM;
        w.params.mem = mapped;
        send(p, w, std::string_view(text).substr(0, lengths[i]));
    }
    for (const unsigned rail : {0U, 1U}) {
        p.own(rail).no_resource = false;
    }
    for (waiter &w : waiters) {
        REQUIRE(p.until([&] { return w.is_done(); }, std::chrono::seconds(20)));
        CHECK(w.status == UFX_OK);
    }
    REQUIRE(in.texts.size() == lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        CHECK(in.texts[i].size() == lengths[i]);
    }
    REQUIRE(ufx_ucp_mem_unmap(p.a.context, mapped) == UFX_OK);
}

TEST_CASE("ucp: a list of gets that is canceled is not notified when its data comes",
          "[data][fake]")
{
    fake_pair p;
    unsigned notified = 0;
    const auto count = [](void *arg, ufx_ucp_ep_h, std::uint64_t, const void *,
                          std::size_t) noexcept { ++*static_cast<unsigned *>(arg); };
    REQUIRE(ufx_ucp_worker_set_notify_handler(p.b.worker, count, &notified) == UFX_OK);
    std::vector<std::byte> local(2 * mtu);
    const ufx_ucp_transfer_t parts[] = {
        {local.data(), p.a.peer_addr, mtu, p.a.peer_key, nullptr},
        {local.data() + mtu, p.a.peer_addr + mtu, mtu, p.a.peer_key, nullptr}};
    const ufx_ucp_notify_t notify = {1, nullptr, 0};
    for (const unsigned rail : {0U, 1U}) {
        p.peers(rail).acks.hold(); // and the data
    }
    waiter w;
    ufx_ucp_request_h request = nullptr;
    w.posted(ufx_ucp_get_list(p.a.ep, parts, std::size(parts), &notify, &w.params, &request));
    p.rounds(20);
    REQUIRE(ufx_ucp_request_cancel(request) == UFX_OK);
    for (const unsigned rail : {0U, 1U}) {
        p.peers(rail).acks.open();
    }
    for (int i = 0; i < 5; ++i) { // the data is there before the cancel has had its turn
        (void)ufx_ucp_worker_progress(p.b.worker);
    }
    REQUIRE(p.until_done(w));
    p.rounds(100);
    CHECK(w.status == UFX_ERR_CANCELED);
    CHECK(w.calls == 1);
    CHECK(notified == 0);
    ufx_ucp_request_free(request);
}

TEST_CASE("ucp: what cannot be registered is copied if it is a message, and refused else",
          "[data][fake][L10]")
{
    fake_pair p(0, true);
    inbox in(p.b.worker);
    std::vector<std::byte> local(4 * mtu);
    fill(local.data(), local.size(), 1);
    const std::string text(20 * mtu, 't');
    ufx::uct::fake::refuse_registration(true);
    waiter refused, sent, fetched, written;
    put(p, refused, local);
    CHECK(refused.status == UFX_ERR_NO_MEMORY);
    send(p, sent, text);
    fetched.with_flags(UFX_UCP_OP_AM_RNDV);
    send(p, fetched, text);
    CHECK(fetched.status == UFX_ERR_NO_MEMORY);
    REQUIRE(p.until_done(sent));
    CHECK(sent.status == UFX_OK);
    CHECK(in.texts == std::vector{text});
    ufx::uct::fake::refuse_registration(false);
    put(p, written, local);
    REQUIRE(p.until_done(written));
    CHECK(written.status == UFX_OK);
    CHECK(refused.calls == 1);
}

TEST_CASE("ucp: a put is posted beside the messages that wait for what follows it", "[data][fake]")
{
    const ufx::ucs::fake_clock clock; // it stands: nothing is asked for again
    fake_pair p("FRAGMENT_TIME", "1ms"); // of a lane's room: no more than its least
    inbox in(p.b.worker);
    for (valve *each : {&p.own(1).data, &p.peers(1).data}) {
        each->lose();
    }
    p.break_lane(1); // one lane is to take it all
    std::vector<std::byte> local(64 * mtu);
    fill(local.data(), local.size(), 1);
    // More puts than a lane takes at once, so that messages get between them.
    const std::vector<ufx_ucp_transfer_t> parts(
        200, {local.data(), p.a.peer_addr, local.size(), p.a.peer_key, nullptr});
    const ufx_ucp_notify_t notify = {1, nullptr, 0};
    waiter list;
    list.posted(
        ufx_ucp_put_list(p.a.ep, parts.data(), parts.size(), &notify, &list.params, nullptr));
    const std::string text(8000, 't');
    std::deque<waiter> waiters(1000);
    for (waiter &each : waiters) {
        send(p, each, text);
    }
    REQUIRE(p.until([&] { return list.is_done(); }, std::chrono::seconds(20)));
    for (waiter &each : waiters) {
        REQUIRE(p.until_done(each));
    }
    CHECK(in.texts.size() == waiters.size());
    CHECK(first_difference(p.b.memory, local.size(), 1) == local.size());
}

TEST_CASE("ucp: a put whose ack was lost is not written again", "[data][fake][X02][X07]")
{
    fake_pair p;
    std::vector<std::byte> local(5 * mtu);
    fill(local.data(), local.size(), 1);
    p.peers(0).acks.lose();
    p.peers(1).acks.lose();
    waiter w;
    put(p, w, local);
    REQUIRE(p.until([&] { return first_difference(p.b.memory, local.size(), 1) == local.size(); }));
    p.rounds(20);
    CHECK_FALSE(w.is_done());
    fill(p.b.memory, local.size(), 9); // its consumer took it and reuses the memory
    p.break_lane(0);
    p.break_lane(1);
    p.peers(0).acks.open();
    p.peers(1).acks.open();
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_OK);
    CHECK(first_difference(p.b.memory, local.size(), 9) == local.size());
    CHECK(p.failover(p.a).landed >= 1);
    CHECK(p.failover(p.a).replayed == 0);
}

TEST_CASE("ucp: a put that landed in part goes on at the landed byte", "[data][fake][X19]")
{
    fake_pair p;
    std::vector<std::byte> local(8 * mtu);
    fill(local.data(), local.size(), 2);
    p.own(0).data.allow(3);
    p.own(1).data.allow(3);
    waiter w;
    put(p, w, local);
    REQUIRE(p.until([&] { return first_difference(p.b.memory, local.size(), 2) == 3 * mtu; }));
    p.rounds(20);
    fill(p.b.memory, 3 * mtu, 9);
    p.break_lane(0);
    p.break_lane(1);
    p.own(0).data.lose();
    p.own(1).data.lose();
    p.rounds(5);
    p.own(0).data.open();
    p.own(1).data.open();
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_OK);
    CHECK(first_difference(p.b.memory, 3 * mtu, 9) == 3 * mtu);
    for (std::size_t i = 3 * mtu; i < local.size(); ++i) {
        REQUIRE(p.b.memory[i] == local[i]);
    }
    CHECK(p.failover(p.a).partial == 1);
    CHECK(p.failover(p.a).replayed == 1);
}

TEST_CASE("ucp: a get whose data was lost is asked again, never completed", "[data][fake][X18]")
{
    fake_pair p;
    std::vector<std::byte> local(4 * mtu);
    fill(p.b.memory, local.size(), 3);
    p.peers(0).acks.lose();
    p.peers(1).acks.lose();
    waiter w;
    w.posted(ufx_ucp_get(p.a.ep, local.data(), local.size(), p.a.peer_addr, p.a.peer_key, &w.params,
                         nullptr));
    p.rounds(50);
    CHECK_FALSE(w.is_done());
    p.break_lane(0);
    p.break_lane(1);
    p.peers(0).acks.open();
    p.peers(1).acks.open();
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_OK);
    CHECK(first_difference(local.data(), local.size(), 3) == local.size());
}

TEST_CASE("ucp: a message that ends after it was numbered does not block those behind it",
          "[data][fake][X20]")
{
    fake_pair p;
    inbox in(p.b.worker);
    p.own(0).data.hold();
    waiter first;
    waiter second;
    waiter third;
    SECTION("by its deadline, while it is posted")
    {
        first.with_deadline(100'000'000);
        send(p, first, "first");
        p.rounds(10);
        send(p, second, "second");
        send(p, third, "third");
        REQUIRE(p.until_done(first));
        CHECK(first.status == UFX_ERR_TIMEOUT);
        CHECK(first.flags == UFX_UCP_COMPLETION_REMOTE_FINAL);
    }
    SECTION("canceled, while it has a number and no lane takes it")
    {
        p.own(1).data.hold();
        p.own(0).no_resource = true;
        p.own(1).no_resource = true;
        ufx_ucp_request_h request = nullptr;
        send(p, first, "first", &request);
        send(p, second, "second");
        send(p, third, "third");
        p.rounds(10);
        REQUIRE(ufx_ucp_request_cancel(request) == UFX_OK);
        REQUIRE(p.until_done(first));
        CHECK(first.status == UFX_ERR_CANCELED);
        ufx_ucp_request_free(request);
        p.own(0).no_resource = false;
        p.own(1).no_resource = false;
        p.own(1).data.open();
    }
    p.own(0).data.open();
    REQUIRE(p.until([&] { return second.is_done() && third.is_done(); }));
    REQUIRE(p.until([&] { return in.texts.size() >= 2; }));
    CHECK(in.texts == std::vector<std::string>{"second", "third"});
    CHECK(first.calls == 1);
}

TEST_CASE("ucp: messages beyond the held-bytes limit are refused, sent again, and all arrive",
          "[data][fake][X26]")
{
    fake_pair p("AM_HOLD_BYTES", "64kb");
    inbox in(p.b.worker);
    p.own(0).data.hold();
    std::deque<waiter> waiters(120);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        texts.emplace_back(4000, static_cast<char>('a' + i % 26));
        texts.back() += std::to_string(i);
    }
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        send(p, waiters[i], texts[i]);
        p.progress();
    }
    p.rounds(300);
    CHECK(in.texts.empty());
    p.own(0).data.open();
    REQUIRE(p.until([&] { return in.texts.size() == texts.size(); }));
    CHECK(in.texts == texts);
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
        CHECK(w.calls == 1);
    }
}

namespace {

struct notices {
    pair &p;
    unsigned count = 0;
    std::size_t good = 0;
    std::size_t expected;

    notices(pair &on, std::size_t length) : p(on), expected(length)
    {
        REQUIRE(ufx_ucp_worker_set_notify_handler(p.b.worker, on_notify, this) == UFX_OK);
    }
    static void on_notify(void *arg, ufx_ucp_ep_h, std::uint64_t, const void *,
                          std::size_t) noexcept
    {
        auto &self = *static_cast<notices *>(arg);
        ++self.count;
        self.good = first_difference(self.p.b.memory, self.expected, 4);
        fill(self.p.b.memory, self.expected, 9); // the consumer uses the memory at once
    }
};

void put_list(pair &p, waiter &w, const std::vector<std::byte> &local, std::size_t pieces)
{
    std::vector<ufx_ucp_transfer_t> list;
    const std::size_t size = local.size() / pieces;
    for (std::size_t i = 0; i < pieces; ++i) {
        list.push_back({const_cast<std::byte *>(local.data()) + i * size, p.a.peer_addr + i * size,
                        size, p.a.peer_key, nullptr});
    }
    const ufx_ucp_notify_t notify{1, nullptr, 0};
    w.posted(ufx_ucp_put_list(p.a.ep, list.data(), list.size(), &notify, &w.params, nullptr));
}

} // namespace

TEST_CASE("ucp: a notification waits for its puts through a failover, and they are not written "
          "after it",
          "[data][fake][X25]")
{
    fake_pair p;
    std::vector<std::byte> local(16 * mtu);
    fill(local.data(), local.size(), 4);
    notices seen(p, local.size());
    const unsigned allowed = GENERATE(0u, 1u, 3u, 7u);
    p.own(0).data.allow(allowed);
    waiter w;
    put_list(p, w, local, 4);
    p.rounds(100);
    CHECK(seen.count == 0);
    p.break_lane(0);
    p.own(0).data.lose();
    p.rounds(5);
    p.own(0).data.open();
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_OK);
    p.rounds(100);
    CHECK(seen.count == 1);
    CHECK(seen.good == local.size());
    CHECK(first_difference(p.b.memory, local.size(), 9) == local.size());
}

TEST_CASE("ucp: a put list of which one put fails is not notified", "[data][fake][X25]")
{
    fake_pair p;
    std::vector<std::byte> local(4 * mtu);
    notices seen(p, local.size());
    p.own(0).data.hold();
    p.own(1).data.hold();
    std::vector<ufx_ucp_transfer_t> list;
    list.push_back({local.data(), p.a.peer_addr, local.size(), p.a.peer_key, nullptr});
    const ufx_ucp_notify_t notify{1, nullptr, 0};
    waiter w;
    w.with_deadline(50'000'000);
    w.posted(ufx_ucp_put_list(p.a.ep, list.data(), 1, &notify, &w.params, nullptr));
    REQUIRE(p.until_done(w));
    CHECK(w.status == UFX_ERR_TIMEOUT);
    p.own(0).data.open();
    p.own(1).data.open();
    waiter after; // what follows is not blocked by it
    inbox in(p.b.worker);
    send(p, after, "after");
    REQUIRE(p.until_done(after));
    CHECK(seen.count == 0);
    CHECK(in.texts.size() == 1);
}

TEST_CASE("ucp: a flush between the error and the replay completes after the replay",
          "[data][fake][X04]")
{
    fake_pair p;
    std::vector<std::byte> local(4 * mtu);
    fill(local.data(), local.size(), 5);
    p.own(0).data.hold();
    p.own(1).data.hold();
    waiter w;
    put(p, w, local);
    p.rounds(10);
    p.break_lane(0);
    p.break_lane(1);
    p.own(0).data.lose();
    p.own(1).data.lose();
    p.rounds(2);
    waiter flush;
    flush.posted(ufx_ucp_ep_flush(p.a.ep, &flush.params, nullptr));
    CHECK_FALSE(flush.is_done());
    p.own(0).data.open();
    p.own(1).data.open();
    REQUIRE(p.until_done(flush));
    CHECK(flush.status == UFX_OK);
    CHECK(w.is_done());
    CHECK(first_difference(p.b.memory, local.size(), 5) == local.size());
}

TEST_CASE("ucp: a deadline covers what is queued and not posted", "[data][fake][T02]")
{
    fake_pair p;
    std::vector<std::byte> local(mtu);
    p.own(0).no_resource = true;
    p.own(1).no_resource = true;
    waiter w;
    w.with_deadline(50'000'000);
    put(p, w, local);
    waiter message;
    message.with_deadline(50'000'000);
    send(p, message, "late");
    REQUIRE(p.until([&] { return w.is_done() && message.is_done(); }));
    CHECK(w.status == UFX_ERR_TIMEOUT);
    CHECK(w.flags == UFX_UCP_COMPLETION_REMOTE_FINAL);
    CHECK(message.status == UFX_ERR_TIMEOUT);
    p.own(0).no_resource = false;
    p.own(1).no_resource = false;
    waiter next;
    put(p, next, local);
    REQUIRE(p.until_done(next));
    CHECK(next.status == UFX_OK);
}

TEST_CASE("ucp: queues are bounded, and what waited goes out in order", "[data][fake][L07][L13]")
{
    fake_pair p("PENDING_MAX", "64");
    inbox in(p.b.worker);
    p.own(0).no_resource = true;
    p.own(1).no_resource = true;
    std::deque<waiter> waiters;
    std::vector<std::string> texts;
    std::vector<std::byte> local(mtu);
    unsigned accepted = 0;
    unsigned refused = 0;
    // The window takes messages up to its size; puts wait in the bounded queue.
    for (unsigned i = 0; i < 200; ++i) {
        waiter &w = waiters.emplace_back();
        const ufx_status_t status = ufx_ucp_put(p.a.ep, local.data(), local.size(), p.a.peer_addr,
                                                p.a.peer_key, &w.params, nullptr);
        if (status == UFX_ERR_NO_RESOURCE) {
            waiters.pop_back();
            ++refused;
        } else {
            CHECK(status == UFX_INPROGRESS);
            ++accepted;
        }
    }
    CHECK(accepted == 64);
    CHECK(refused == 136);
    p.own(0).no_resource = false;
    p.own(1).no_resource = false;
    for (waiter &w : waiters) {
        REQUIRE(p.until_done(w));
        CHECK(w.status == UFX_OK);
    }
    texts.reserve(40); // the messages point into it
    for (unsigned i = 0; i < 40; ++i) {
        texts.push_back(std::to_string(i));
        p.own(0).no_resource = i % 3 == 0;
        p.own(1).no_resource = i % 2 == 0;
        send(p, waiters.emplace_back(), texts.back());
        p.progress();
    }
    p.own(0).no_resource = false;
    p.own(1).no_resource = false;
    REQUIRE(p.until([&] { return in.texts.size() == texts.size(); }));
    CHECK(in.texts == texts);
}
