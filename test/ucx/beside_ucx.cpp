// SPDX-License-Identifier: BSD-3-Clause
// One process moves checked bytes by UCX's ucp_put while a UFX ep fails over and comes back.
//
// Built twice, with the two libraries linked in either order: the order in which they are loaded.
#include "ucx_side.h"
#include "ufx_side.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr std::uint64_t blocks_a_phase = 200;

// Both sides move blocks until each has checked `blocks_a_phase` more; false at an error or deadline.
bool run_phase(const char *name, ucx_side &ucx, ufx_side &ufx)
{
    const std::uint64_t ucx_goal = ucx.checked_blocks() + blocks_a_phase;
    const std::uint64_t ufx_goal = ufx.checked_blocks() + blocks_a_phase;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (ucx.checked_blocks() < ucx_goal || ufx.checked_blocks() < ufx_goal) {
        ucx.step();
        ufx.step();
        if (!ucx.error().empty() || !ufx.error().empty()) {
            std::fprintf(stderr, "%s: %s %s\n", name, ucx.error().c_str(), ufx.error().c_str());
            return false;
        }
        if (std::chrono::steady_clock::now() > deadline) {
            std::fprintf(stderr, "%s: no end after 60 s\n", name);
            return false;
        }
    }
    std::printf("%s: ucx %llu blocks, ufx %llu blocks, %llu fragments replayed\n", name,
                static_cast<unsigned long long>(ucx.checked_blocks()),
                static_cast<unsigned long long>(ufx.checked_blocks()),
                static_cast<unsigned long long>(ufx.replayed()));
    return true;
}

} // namespace

int main()
{
    ::setenv("UCX_TLS", "tcp,self", 0);
    ::setenv("UCX_NET_DEVICES", "lo", 0);
    ucx_side ucx;
    ufx_side ufx;
    bool good = run_phase("both rails", ucx, ufx);
    if (good) {
        ufx.set_link("rail1", false);
        good = run_phase("rail1 cut", ucx, ufx);
    }
    if (good) {
        ufx.set_link("rail1", true);
        good = run_phase("rail1 back", ucx, ufx);
    }
    ufx.drain();
    if (!ufx.error().empty()) {
        std::fprintf(stderr, "%s\n", ufx.error().c_str());
        good = false;
    }
    if (good && ufx.switches() == 0) {
        std::fprintf(stderr, "the cut rail caused no switch: the fault did not hit\n");
        good = false;
    }
    return good ? 0 : 1;
}
