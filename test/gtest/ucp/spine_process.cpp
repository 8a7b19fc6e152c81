// SPDX-License-Identifier: BSD-3-Clause
// A worker among other processes: peers that stop, die or restart; waiting; looking inside.
#include "spine_traffic.h"

#include "ucp/control_path.h"
#include "ucp/dump.h"
#include "ucp/ep.h"
#include "ucp/wakeup.h"
#include "ucs/fake_clock.h"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ufx::test {

namespace {

constexpr std::size_t target_bytes = 1 << 16;

// What the child tells: its worker address and the packed key of its memory.
struct hello {
    std::uint32_t address_length = 0;
    std::uint32_t key_length = 0;
    std::uint64_t memory = 0;
    std::uint8_t bytes[8000];
};

// Runs in the child: a target that progresses until it is killed. No Catch here.
[[noreturn]] void be_target(int report, const pair_options &options)
{
    ufx_ucp_context_params_t cp{};
    cp.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES | UFX_UCP_CONTEXT_PARAM_CONFIG;
    cp.devices = options.devices.c_str();
    cp.config = options.config.data();
    cp.config_count = options.config.size();
    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h worker = nullptr;
    ufx_ucp_mem_h mem = nullptr;
    ufx_ucp_mem_params_t mp{};
    mp.field_mask = UFX_UCP_MEM_PARAM_LENGTH | UFX_UCP_MEM_PARAM_FLAGS;
    mp.length = target_bytes;
    mp.flags = UFX_UCP_MEM_ALLOCATE | UFX_UCP_MEM_REMOTE_WRITE;
    void *memory = nullptr;
    void *address = nullptr;
    void *key = nullptr;
    std::size_t address_length = 0;
    std::size_t key_length = 0;
    hello h;
    if (ufx_ucp_context_create(&cp, &context) != UFX_OK ||
        ufx_ucp_worker_create(context, nullptr, &worker) != UFX_OK ||
        ufx_ucp_mem_map(context, &mp, &mem) != UFX_OK ||
        ufx_ucp_mem_query(mem, &memory, nullptr) != UFX_OK ||
        ufx_ucp_worker_get_address(worker, &address, &address_length) != UFX_OK ||
        ufx_ucp_rkey_pack(context, mem, &key, &key_length) != UFX_OK ||
        address_length + key_length > sizeof(h.bytes)) {
        ::_exit(1);
    }
    h.address_length = static_cast<std::uint32_t>(address_length);
    h.key_length = static_cast<std::uint32_t>(key_length);
    h.memory = reinterpret_cast<std::uintptr_t>(memory);
    std::memcpy(h.bytes, address, address_length);
    std::memcpy(h.bytes + address_length, key, key_length);
    if (::write(report, &h, sizeof(h)) != sizeof(h)) {
        ::_exit(1);
    }
    for (;;) {
        while (ufx_ucp_worker_progress(worker) != 0) {
        }
        (void)ufx_ucp_worker_wait(worker, 5);
    }
}

// A child that is a target, and an ep of this process to it.
class remote {
public:
    explicit remote(const pair_options &options)
    {
        int pipe_ends[2];
        REQUIRE(::pipe(pipe_ends) == 0);
        child_ = ::fork();
        if (child_ == 0) {
            be_target(pipe_ends[1], options);
        }
        hello h;
        REQUIRE(::read(pipe_ends[0], &h, sizeof(h)) == sizeof(h));
        ::close(pipe_ends[0]);
        ::close(pipe_ends[1]);
        ufx_ucp_context_params_t cp{};
        cp.field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES | UFX_UCP_CONTEXT_PARAM_CONFIG;
        cp.devices = options.devices.c_str();
        cp.config = options.config.data();
        cp.config_count = options.config.size();
        REQUIRE(ufx_ucp_context_create(&cp, &context) == UFX_OK);
        REQUIRE(ufx_ucp_worker_create(context, nullptr, &worker) == UFX_OK);
        ufx_ucp_ep_params_t ep_params{};
        ep_params.field_mask = UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_EVENT_CB;
        ep_params.address = h.bytes;
        ep_params.address_length = h.address_length;
        ep_params.event_cb = [](void *arg, ufx_ucp_ep_h, const ufx_ucp_ep_event_t *e) noexcept {
            static_cast<remote *>(arg)->events.push_back(*e);
            static_cast<remote *>(arg)->texts.emplace_back(e->text);
        };
        ep_params.event_arg = this;
        REQUIRE(ufx_ucp_ep_create(worker, &ep_params, &ep) == UFX_OK);
        REQUIRE(ufx_ucp_ep_rkey_unpack(ep, h.bytes + h.address_length, h.key_length, &key) ==
                UFX_OK);
        memory = h.memory;
    }
    ~remote()
    {
        kill();
        ufx_ucp_rkey_destroy(key);
        ufx_ucp_worker_destroy(worker);
        ufx_ucp_context_destroy(context);
    }
    remote(const remote &) = delete;
    remote &operator=(const remote &) = delete;

    void signal(int number) { REQUIRE(::kill(child_, number) == 0); }
    void kill()
    {
        if (child_ > 0) {
            (void)::kill(child_, SIGKILL);
            (void)::waitpid(child_, nullptr, 0);
            child_ = -1;
        }
    }
    template <class F>
    bool until(F &&what, double seconds = 20)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (!what()) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            (void)ufx_ucp_worker_progress(worker);
        }
        return true;
    }
    void put(waiter &w)
    {
        w.posted(ufx_ucp_put(ep, source_, sizeof(source_), memory, key, &w.params, nullptr));
    }
    bool any_trouble() const
    {
        for (const auto &p : ucp::worker::of(worker).peers()) {
            for (const ucp::core::rail_id id : p->machine().rail_ids()) {
                for (unsigned i = 0; i < p->machine().find_rail(id)->history().size(); ++i) {
                    if (p->machine().find_rail(id)->history()[i].to ==
                        ucp::core::rail_state::DRAINING) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    ufx_ucp_context_h context = nullptr;
    ufx_ucp_worker_h worker = nullptr;
    ufx_ucp_ep_h ep = nullptr;
    ufx_ucp_rkey_h key = nullptr;
    std::uint64_t memory = 0;
    std::vector<ufx_ucp_ep_event_t> events;
    std::vector<std::string> texts;

private:
    pid_t child_ = -1;
    std::byte source_[4096] = {};
};

} // namespace

TEST_CASE("tcp: a peer that is killed: one clear error, every operation ends once",
          "[spine][tcp][X09]")
{
    remote r(quick_rails());
    waiter first;
    r.put(first);
    REQUIRE(r.until([&] { return first.is_done(); }));
    CHECK(first.status == UFX_OK);
    r.kill();
    waiter after[8];
    for (waiter &w : after) {
        r.put(w);
    }
    REQUIRE(r.until([&] { return !r.events.empty(); }));
    CHECK(r.events[0].type == UFX_UCP_EP_EVENT_ERROR);
    CHECK(r.events[0].status == UFX_ERR_UNREACHABLE);
    CHECK(r.texts[0].starts_with("the peer is dead: its process has gone"));
    for (const waiter &w : after) {
        CHECK(w.calls == 1);
        CHECK(w.status != UFX_OK);
    }
    // Nothing about transfers of the peer: this side gave no key, so that it cannot have begun any.
    REQUIRE_FALSE(r.until([&] { return r.events.size() > 1; }, 0.2));
}

TEST_CASE("tcp: a peer that stands still for 2 s costs no rail and no operation",
          "[spine][tcp][X13]")
{
    remote r(quick_rails());
    waiter first;
    r.put(first);
    REQUIRE(r.until([&] { return first.is_done(); }));
    r.signal(SIGSTOP);
    waiter during[64];
    for (waiter &w : during) {
        r.put(w);
    }
    (void)r.until([&] { return r.any_trouble(); }, 2);
    CHECK_FALSE(r.any_trouble());
    CHECK(r.events.empty());
    r.signal(SIGCONT);
    for (waiter &w : during) {
        REQUIRE(r.until([&] { return w.is_done(); }));
        CHECK(w.status == UFX_OK);
    }
    CHECK_FALSE(r.any_trouble());
}

TEST_CASE("a worker that waits wakes for what arrives, and for a signal", "[rails][spine][tcp]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.finish());
    REQUIRE(p.until([&] { return ufx_ucp_worker_arm(p.b.worker) == UFX_OK; }));
    int fd = -1;
    REQUIRE(ufx_ucp_worker_event_fd(p.b.worker, &fd) == UFX_OK);
    waiter w;
    w.posted(ufx_ucp_am_send(p.a.ep, traffic::am_id, nullptr, 0, "x", 1, &w.params, nullptr));
    for (int i = 0; i < 100; ++i) {
        (void)ufx_ucp_worker_progress(p.a.worker);
    }
    pollfd one{fd, POLLIN, 0};
    CHECK(::poll(&one, 1, 5000) == 1);
    REQUIRE(p.until_done(w));
    REQUIRE(p.until([&] { return ufx_ucp_worker_arm(p.b.worker) == UFX_OK; }));
    REQUIRE(ufx_ucp_worker_signal(p.b.worker) == UFX_OK);
    CHECK(::poll(&one, 1, 5000) == 1);
}

TEST_CASE("ucp: a progress thread answers seals for a program that does not progress",
          "[rails][spine][tcp][threads]")
{
    pair_options options = quick_rails();
    options.config.push_back({"PROGRESS_THREAD", "y"});
    options.threads = UFX_UCP_THREAD_MULTI;
    pair p(options);
    traffic t(p);
    REQUIRE(t.run_until([&] { return t.completed() > 50; }));
    // From here on nobody progresses b but its thread.
    p.set_link(p.a, "rail0", false);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (state_of(p.a, 0) != UFX_UCP_RAIL_DOWN && std::chrono::steady_clock::now() < end) {
        (void)ufx_ucp_worker_progress(p.a.worker);
    }
    CHECK(state_of(p.a, 0) == UFX_UCP_RAIL_DOWN);
    p.set_link(p.a, "rail0", true);
    REQUIRE(t.finish());
    CHECK(t.verify());
}

TEST_CASE("a progress thread leaves a program alone that progresses, and queues an ep once",
          "[rails][spine][tcp][threads]")
{
    ucs::fake_clock clock(ufx_ucs_time_ns()); // on which the program progresses all the time
    pair_options options;
    options.config.push_back({"PROGRESS_THREAD", "y"});
    options.threads = UFX_UCP_THREAD_MULTI;
    pair p(options);
    ucp::worker &b = ucp::worker::of(p.b.worker);
    const auto arrived = [&] {
        const auto held = b.lock();
        return ucp::ep::of(p.b.ep).failover()->rx().window().next();
    };
    // Progresses a alone until b has taken so many messages.
    const auto takes = [&](std::uint64_t count, unsigned turns) {
        for (unsigned i = 0; i < turns && arrived() < count; ++i) {
            (void)ufx_ucp_worker_progress(p.a.worker);
            std::this_thread::yield();
        }
        return arrived() >= count;
    };
    const std::uint64_t before = arrived();
    const auto send = [&] {
        REQUIRE(ufx_ucp_am_send(p.a.ep, traffic::am_id, nullptr, 0, "x", 1, nullptr, nullptr) >= 0);
    };
    (void)ufx_ucp_worker_progress(p.b.worker);
    send();
    CHECK_FALSE(takes(before + 1, 20000)); // in which a thread that does not pause would have come
    for (unsigned i = 1; i <= 4; ++i) {
        clock.advance(3 * ucp::core::ms_ns); // the program has not come for longer than that
        REQUIRE(takes(before + i, UINT_MAX));
        send();
    }
    const auto held = b.lock();
    CHECK(b.eps_to_deliver() == 1);
}

TEST_CASE("what a progress thread takes still wakes who waits", "[spine][tcp]")
{
    pair p(quick_rails());
    traffic t(p);
    REQUIRE(t.finish());
    ucp::worker &b = ucp::worker::of(p.b.worker);
    int fd = -1;
    REQUIRE(ufx_ucp_worker_event_fd(p.b.worker, &fd) == UFX_OK);
    pollfd one{fd, POLLIN, 0};
    REQUIRE(p.until([&] { return ufx_ucp_worker_arm(p.b.worker) == UFX_OK; }));
    SECTION("a message")
    {
        REQUIRE(ufx_ucp_am_send(p.a.ep, traffic::am_id, nullptr, 0, "x", 1, nullptr, nullptr) >= 0);
        REQUIRE(p.until([&] {
            (void)ufx_ucp_worker_progress(p.a.worker);
            return b.progress_inner() != 0; // as the thread does
        }));
    }
    SECTION("a signal")
    {
        REQUIRE(ufx_ucp_worker_signal(p.b.worker) == UFX_OK);
        REQUIRE(b.progress_inner() != 0);
    }
    while (b.progress_inner() != 0) { // nothing is left to be read
    }
    CHECK(::poll(&one, 1, 0) == 0);
    CHECK(b.wake().hand_over());
    CHECK(::poll(&one, 1, 0) == 1);
    CHECK(ufx_ucp_worker_arm(p.b.worker) == UFX_ERR_BUSY);
    (void)b.progress_inner(); // the thread reads its own signal too
    CHECK(b.wake().hand_over());
    CHECK(::poll(&one, 1, 0) == 1);
    REQUIRE(p.until([&] { return ufx_ucp_worker_arm(p.b.worker) == UFX_OK; }));
}

TEST_CASE("a state that a progress thread has changed is looked at before the next wait",
          "[rails][spine][tcp]")
{
    pair p(quick_rails());
    ucp::worker &b = ucp::worker::of(p.b.worker);
    CHECK_FALSE(b.wake().hand_over()); // nobody waits, but there is something to see
    CHECK(ufx_ucp_worker_arm(p.b.worker) == UFX_ERR_BUSY);
    (void)ufx_ucp_worker_progress(p.b.worker);
    REQUIRE(p.until([&] { return ufx_ucp_worker_arm(p.b.worker) == UFX_OK; }));
}

TEST_CASE("a live worker is looked into by its debug socket, and told to drain a rail", "[spine]")
{
    char folder[] = "/tmp/ufx-test-XXXXXX";
    REQUIRE(::mkdtemp(folder) != nullptr);
    {
        pair_options options = quick_rails();
        options.config.push_back({"DEBUG_SOCKET", folder});
        pair p(options);
        const auto ask = [&](const std::string &request, const std::string &which = "") {
            sockaddr_un at{};
            at.sun_family = AF_UNIX;
            const std::string path =
                std::string(folder) + "/" + std::to_string(::getpid()) + which + ".sock";
            path.copy(at.sun_path, sizeof(at.sun_path) - 1);
            const ucs::fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
            REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr *>(&at), sizeof(at)) == 0);
            REQUIRE(::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(request.size()));
            std::string answer;
            REQUIRE(p.until([&] {
                char piece[4096];
                const ssize_t got = ::recv(socket.get(), piece, sizeof(piece), 0);
                answer.append(piece, got > 0 ? static_cast<std::size_t>(got) : 0);
                return got == 0;
            }));
            return answer;
        };
        CHECK(ask("dump text\n").find("state: UP") != std::string::npos);
        CHECK(ask("dump json\n").starts_with("{\"worker\":\""));
        CHECK(ask("dump json\n", "-1").starts_with("{\"worker\":\""));
        CHECK(ask("dump json\n", "-1") != ask("dump json\n"));
        CHECK(ask("rail rail9 drain\n").starts_with("error: there is no rail rail9"));
        CHECK(ask("make coffee\n").starts_with("error: "));
        CHECK(ask("rail rail1 drain\n") == "rail1: drain begun\n");
        REQUIRE(p.until([&] {
            return state_of(p.a, 1) == UFX_UCP_RAIL_DOWN && state_of(p.b, 1) == UFX_UCP_RAIL_DOWN;
        }));
    }
    (void)::rmdir(folder);
}

TEST_CASE("the dump of a worker and of the system: text, and JSON with balanced brackets",
          "[spine]")
{
    pair p(quick_rails());
    const auto balanced = [](const std::string &json) {
        int depth = 0;
        bool quoted = false;
        for (std::size_t i = 0; i < json.size(); ++i) {
            quoted = json[i] == '"' && json[i - 1] != '\\' ? !quoted : quoted;
            depth += quoted
                         ? 0
                         : (json[i] == '{' || json[i] == '[') - (json[i] == '}' || json[i] == ']');
        }
        return depth == 0 && !quoted;
    };
    for (const auto format : {UFX_UCP_DUMP_TEXT, UFX_UCP_DUMP_JSON}) {
        char *text = nullptr;
        REQUIRE(ufx_ucp_worker_dump(p.a.worker, format, &text) == UFX_OK);
        const std::string worker_dump = text;
        ufx_ucp_dump_release(text);
        REQUIRE(ufx_ucp_system_dump(format, &text) == UFX_OK);
        const std::string system_dump = text;
        ufx_ucp_dump_release(text);
        CHECK(worker_dump.find("lo:127.0.0.2") != std::string::npos);
        CHECK(system_dump.find("completion_is_delivery") != std::string::npos);
        if (format == UFX_UCP_DUMP_JSON) {
            CHECK(balanced(worker_dump));
            CHECK(balanced(system_dump));
        }
    }
}

} // namespace ufx::test
