// SPDX-License-Identifier: BSD-3-Clause
// How long a failover takes over rails of the software HCA, both sides in this process, with the
// settings that users have: by hand, on a machine with nothing else to do.
//
//     ufx_swhca run --hca 4 --rate 10Gb/s -- ./failover_times [--rounds N] [--eps N]
#include "world.h"

#include "tools/failover/fault_line.h"

#include <ufx/ucs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ufx::matrix {

namespace {

using clock = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::size_t put_bytes = 4096;
constexpr const char *senders = "mlx5_0:1,mlx5_1:1";
constexpr const char *receivers = "mlx5_2:1,mlx5_3:1";

// The moments of the trace points of this process, since they were last cleared.
class moments {
public:
    moments() { ufx_ucs_trace_set_hook(&on_trace, this); }
    ~moments() { ufx_ucs_trace_set_hook(nullptr, nullptr); }
    moments(const moments &) = delete;
    moments &operator=(const moments &) = delete;

    void clear() { first_sealing = last_replay = {}; }

    clock::time_point first_sealing, last_replay;

private:
    static void on_trace(void *arg, const char *name)
    {
        auto &self = *static_cast<moments *>(arg);
        const std::string what = name;
        if (what == "sealing" && self.first_sealing == clock::time_point()) {
            self.first_sealing = clock::now();
        } else if (what == "replay_posted") {
            self.last_replay = clock::now();
        }
    }
};

void print(const std::string &name, std::vector<double> ms)
{
    if (ms.empty()) {
        std::printf("%-58s no round led to it\n", name.c_str());
        return;
    }
    std::sort(ms.begin(), ms.end());
    const auto at = [&](double part) {
        return ms[std::min(ms.size() - 1, static_cast<std::size_t>(part * static_cast<double>(ms.size())))];
    };
    std::printf("%-58s %4zu rounds  median %8.2f  p99 %8.2f  longest %8.2f ms\n", name.c_str(),
                ms.size(), at(0.5), at(0.99), ms.back());
    std::fflush(stdout);
}

// Of all threads of this process, both sides and their devices among them.
milliseconds cpu_time()
{
    timespec used{};
    (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

class bench {
public:
    bench() : world_(senders, receivers, world::times::USUAL), local_(put_bytes) {}

    // 1000 puts in flight on one endpoint; from the fault to the last replay on the other rail.
    void in_flight(const char *name, const char *fault, const char *mend, unsigned rounds)
    {
        std::vector<double> detect, all;
        for (unsigned i = 0; i < rounds; ++i) {
            std::deque<waiter> puts(1000);
            for (waiter &w : puts) {
                put(w, world_.sender.ep);
            }
            world_.progress();
            seen_.clear();
            const auto begin = clock::now();
            line_.apply(fault);
            if (!world_.until([&] { return are_done(puts); })) {
                throw std::runtime_error("puts do not end:\n" + world_.state());
            }
            if (seen_.last_replay != clock::time_point()) {
                detect.push_back(milliseconds(seen_.first_sealing - begin).count());
                all.push_back(milliseconds(seen_.last_replay - begin).count());
            }
            recover(mend);
        }
        print(std::string(name) + ": to the first seal", detect);
        print(std::string(name) + ": to the last of 1000 puts replayed", all);
    }

    // One put on each of many endpoints; from the fault to the completion of each.
    void many_endpoints(unsigned count, unsigned rounds)
    {
        std::vector<ufx_ucp_ep_h> eps;
        while (eps.size() < count) {
            eps.push_back(world_.make_ep());
        }
        const auto wired = [&] {
            return std::all_of(eps.begin(), eps.end(), [](ufx_ucp_ep_h ep) {
                ufx_ucp_ep_attr_t attr{};
                attr.field_mask = UFX_UCP_EP_ATTR_LANES;
                return ufx_ucp_ep_query(ep, &attr) == UFX_OK && attr.lanes > 1 &&
                       attr.lanes_live == attr.lanes;
            });
        };
        std::vector<double> all, cpu;
        for (unsigned i = 0; i < rounds; ++i) {
            if (!world_.until(wired)) {
                throw std::runtime_error("endpoints are not wired");
            }
            std::deque<waiter> puts(count);
            for (unsigned k = 0; k < count; ++k) {
                put(puts[k], eps[k]);
            }
            const auto begin = clock::now();
            const auto cpu_begin = cpu_time();
            line_.apply("hca 0 device-fatal");
            std::vector<bool> counted(count);
            if (!world_.until([&] { return count_done(puts, counted, begin, all); })) {
                throw std::runtime_error("puts do not end:\n" + world_.state());
            }
            cpu.push_back((cpu_time() - cpu_begin).count());
            recover("hca 0 device-reset");
        }
        print("device dead, " + std::to_string(count) + " endpoints: CPU of this process", cpu);
        print("device dead, " + std::to_string(count) + " endpoints: to each completion", all);
    }

private:
    void put(waiter &w, ufx_ucp_ep_h ep)
    {
        side &from = world_.sender;
        w.posted(ufx_ucp_put(ep, local_.data(), local_.size(), from.peer_address,
                             ep == from.ep ? from.peer_key : key_of(ep), &w.params, nullptr));
    }

    ufx_ucp_rkey_h key_of(ufx_ucp_ep_h ep)
    {
        for (const auto &[of, key] : keys_) {
            if (of == ep) {
                return key;
            }
        }
        void *packed = nullptr;
        std::size_t length = 0;
        ufx_ucp_rkey_h key = nullptr;
        if (ufx_ucp_rkey_pack(world_.receiver.context, world_.receiver.mem, &packed, &length) !=
                UFX_OK ||
            ufx_ucp_ep_rkey_unpack(ep, packed, length, &key) != UFX_OK) {
            throw std::runtime_error("no key");
        }
        ufx_ucp_rkey_buffer_release(packed);
        keys_.emplace_back(ep, key);
        return key;
    }

    static bool are_done(const std::deque<waiter> &all)
    {
        return std::all_of(all.begin(), all.end(), [](const waiter &w) { return w.is_done(); });
    }

    static bool count_done(const std::deque<waiter> &all, std::vector<bool> &counted,
                           clock::time_point begin, std::vector<double> &ms)
    {
        bool whole = true;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!counted[i] && all[i].is_done()) {
                counted[i] = true;
                ms.push_back(milliseconds(clock::now() - begin).count());
            }
            whole = whole && counted[i];
        }
        return whole;
    }

    void recover(const char *mend)
    {
        line_.apply(mend);
        if (!world_.until([&] { return world_.is_whole(); })) {
            throw std::runtime_error("not every rail comes back:\n" + world_.state());
        }
    }

    tools::failover::fault_line line_;
    moments seen_;
    world world_;
    std::vector<std::byte> local_;
    std::vector<std::pair<ufx_ucp_ep_h, ufx_ucp_rkey_h>> keys_;
};

} // namespace

} // namespace ufx::matrix

int main(int argc, char **argv)
{
    unsigned rounds = 20, eps = 500;
    CLI::App app("How long a failover takes, on the software HCA");
    app.add_option("--rounds", rounds, "of each fault");
    app.add_option("--eps", eps, "endpoints over a dying device");
    CLI11_PARSE(app, argc, argv);
    try {
        ufx::matrix::bench all;
        all.in_flight("queue pairs broken", "hca 0 qp-error", "clear", rounds);
        all.in_flight("error completion", "hca 0 error-cqe RETRY_EXC_ERR count 1", "clear", rounds);
        all.in_flight("device dead", "hca 0 device-fatal", "hca 0 device-reset", rounds);
        all.in_flight("port down silently", "hca 0 port-down silent", "port-up", rounds);
        all.many_endpoints(eps, std::max(rounds / 10, 1U));
    } catch (const std::exception &error) {
        std::fprintf(stderr, "failover_times: %s\n", error.what());
        return 1;
    }
    return 0;
}
