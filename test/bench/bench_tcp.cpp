// SPDX-License-Identifier: BSD-3-Clause
// Measures tcp over loopback against a plain socket: bench_tcp [CPU_SECONDS_PER_TEST].
//
// One thread does both sides and rates are per second of CPU time, so that other load on the
// machine does not show. Everything that is counted has arrived.
#include <ufx/uct.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

double seconds_per_test = 0.5;

// Bytes that both sides of a comparison have under way at least: caches decide much here.
constexpr size_t in_flight = 256 * 1024;

double cpu_seconds()
{
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void check(ufx_status_t status, const char *what)
{
    if (status != UFX_OK && status != UFX_INPROGRESS) {
        std::fprintf(stderr, "bench_tcp: %s: %s\n", what, ufx_ucs_status_name(status));
        std::exit(1);
    }
}

struct side {
    explicit side(const char *dev)
    {
        const ufx_uct_component_t *component = nullptr;
        check(ufx_uct_find_component("tcp", &component), "find_component");
        check(ufx_uct_md_open(component, "tcp", nullptr, &md), "md_open");
        ufx_uct_iface_params_t params{};
        params.field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME;
        params.tl_name = "tcp";
        params.dev_name = dev;
        check(ufx_uct_iface_open(md, &params, &iface), "iface_open");
        check(ufx_uct_ep_create(iface, nullptr, &ep), "ep_create");
        check(ufx_uct_iface_get_device_address(iface, device.data()), "device address");
        check(ufx_uct_iface_get_address(iface, port.data()), "iface address");
        check(ufx_uct_ep_get_address(ep, id.data()), "ep address");
    }

    ~side()
    {
        ufx_uct_ep_destroy(ep);
        ufx_uct_iface_close(iface);
        ufx_uct_md_close(md);
    }

    bool live()
    {
        ufx_uct_ep_attr_t attr{};
        attr.field_mask = UFX_UCT_EP_ATTR_STATE;
        check(ufx_uct_ep_query(ep, &attr), "ep_query");
        return attr.state == UFX_UCT_EP_LIVE;
    }

    ufx_uct_md_h md = nullptr;
    ufx_uct_iface_h iface = nullptr;
    ufx_uct_ep_h ep = nullptr;
    std::array<uint8_t, UFX_UCT_ADDR_MAX> device{};
    std::array<uint8_t, UFX_UCT_ADDR_MAX> port{};
    std::array<uint8_t, UFX_UCT_ADDR_MAX> id{};
};

void connect(side &from, side &to)
{
    check(ufx_uct_ep_connect_to_ep(from.ep, to.device.data(), to.port.data(), to.id.data()),
          "connect_to_ep");
}

struct window : ufx_uct_completion_t {
    window() : ufx_uct_completion_t{&window::ended, 1, UFX_OK} {}

    static void ended(ufx_uct_completion_t *self) noexcept
    {
        auto &me = *static_cast<window *>(self);
        me.count = 1;
        me.done++;
    }

    uint64_t done = 0;
};

struct bench {
    bench() : a("lo:127.0.0.1"), b("lo:127.0.0.2"), memory(8 << 20), local(8 << 20)
    {
        connect(a, b);
        connect(b, a);
        while (!a.live() || !b.live()) {
            ufx_uct_iface_progress(a.iface);
            ufx_uct_iface_progress(b.iface);
        }
        ufx_uct_mem_params_t params{};
        params.field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
        params.address = memory.data();
        params.length = memory.size();
        check(ufx_uct_md_mem_reg(b.md, &params, &memh), "mem_reg");
        std::array<uint8_t, 64> packed{};
        check(ufx_uct_md_mkey_pack(b.md, memh, packed.data()), "mkey_pack");
        check(ufx_uct_md_rkey_unpack(a.md, packed.data(), 16, &rkey), "rkey_unpack");
    }

    ~bench()
    {
        ufx_uct_md_rkey_release(a.md, &rkey);
        check(ufx_uct_md_mem_dereg(b.md, memh), "mem_dereg");
    }

    // `post` returns a uct status; the completed ones are counted. @return ops per second
    template <class Post>
    double run(uint64_t depth, Post &&post)
    {
        window comp;
        uint64_t posted = 0;
        double start = cpu_seconds();
        do {
            for (int i = 0; i < 64; i++) {
                while (posted - comp.done < depth && post(&comp) == UFX_INPROGRESS) {
                    posted++;
                }
                progress();
            }
        } while (cpu_seconds() - start < seconds_per_test);
        while (comp.done < posted || ufx_uct_ep_flush(a.ep, 0, nullptr) != UFX_OK) {
            progress();
        }
        return static_cast<double>(posted) / (cpu_seconds() - start);
    }

    void progress()
    {
        ufx_uct_iface_progress(a.iface);
        ufx_uct_iface_progress(b.iface);
    }

    side a;
    side b;
    std::vector<char> memory;
    std::vector<char> local;
    ufx_uct_mem_h memh = nullptr;
    ufx_uct_rkey_bundle_t rkey{};
};

// Messages of `size` bytes by plain send() and recv(). @return messages per second
double plain_socket(size_t size)
{
    int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(at);
    if (::bind(listener, reinterpret_cast<sockaddr *>(&at), sizeof(at)) != 0 ||
        ::listen(listener, 1) != 0 ||
        ::getsockname(listener, reinterpret_cast<sockaddr *>(&at), &length) != 0) {
        std::perror("bench_tcp");
        std::exit(1);
    }
    int out = ::socket(AF_INET, SOCK_STREAM, 0);
    // As tcp does on lo: else the pacing of another algorithm is what is compared.
    (void)::setsockopt(out, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    if (::connect(out, reinterpret_cast<sockaddr *>(&at), sizeof(at)) != 0) {
        std::perror("bench_tcp");
        std::exit(1);
    }
    int in = ::accept(listener, nullptr, nullptr);
    std::vector<char> from(size);
    std::vector<char> to(1 << 20);
    uint64_t received = 0;
    double start = cpu_seconds();
    while (cpu_seconds() - start < seconds_per_test) {
        for (size_t sent = 0; sent < in_flight; sent += size) {
            if (::send(out, from.data(), size, MSG_DONTWAIT) < 0) {
                break;
            }
        }
        ssize_t got = 0;
        while ((got = ::recv(in, to.data(), to.size(), MSG_DONTWAIT)) > 0) {
            received += static_cast<uint64_t>(got);
        }
    }
    double seconds = cpu_seconds() - start;
    ::close(out);
    ::close(in);
    ::close(listener);
    return static_cast<double>(received) / static_cast<double>(size) / seconds;
}

void report(const char *what, size_t size, double rate, double plain)
{
    std::printf("%-10s %8zu bytes %12.0f /s %10.1f MB/s  %5.2f of a plain socket\n", what, size,
                rate, rate * static_cast<double>(size) / 1e6, rate / plain);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1) {
        seconds_per_test = std::atof(argv[1]);
    }
    bench world;
    side &a = world.a;
    auto at = reinterpret_cast<uint64_t>(world.memory.data());
    double small = plain_socket(8);
    double shorts = world.run(256, [&](window *comp) {
        ufx_status_t status = ufx_uct_ep_am_short(a.ep, 1, 1, nullptr, 0);
        if (status != UFX_OK) {
            return status;
        }
        comp->done++;
        return UFX_INPROGRESS;
    });
    report("am_short", 8, shorts, small);
    for (size_t size : {4096ul, 65536ul, 1048576ul - 256}) {
        uint64_t depth = std::max(in_flight / size, size_t{1});
        double plain = plain_socket(size);
        ufx_uct_iov_t iov{world.local.data(), size, nullptr};
        report("put_zcopy", size,
               world.run(depth,
                         [&](window *comp) {
                             return ufx_uct_ep_put_zcopy(a.ep, &iov, 1, at, world.rkey.rkey, comp);
                         }),
               plain);
        report("get_zcopy", size,
               world.run(depth,
                         [&](window *comp) {
                             return ufx_uct_ep_get_zcopy(a.ep, &iov, 1, at, world.rkey.rkey, comp);
                         }),
               plain);
        report("am_zcopy", size,
               world.run(depth,
                         [&](window *comp) {
                             return ufx_uct_ep_am_zcopy(a.ep, 1, nullptr, 0, &iov, 1, 0, comp);
                         }),
               plain);
    }
    double pings = world.run(1, [&](window *comp) { return ufx_uct_ep_check(a.ep, comp); });
    std::printf("round trip of a check: %.1f us\n", 1e6 / pings);
    return 0;
}
