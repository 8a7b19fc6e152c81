// SPDX-License-Identifier: BSD-3-Clause
// A turn with work takes a microsecond, and as long as what it sent by TCP takes at 1 Gb/s; each
// without doubles what it takes, up to a millisecond, but never past what the devices do next.
#include "tools/soak/lockstep.h"

#include "tools/common/error.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <malloc.h>
#include <ufx/ucs.h>

namespace ufx::tools::soak {

namespace {

constexpr uint64_t BEGIN_NS = 1'000'000'000;
constexpr uint64_t LEAST_NS = 1'000;
constexpr uint64_t MOST_NS = 1'000'000;
constexpr uint64_t NS_PER_BYTE = 8;
constexpr uint64_t FNV_OFFSET = 0xcbf29ce484222325; ///< FNV-1a, 64 bits
constexpr uint64_t FNV_PRIME = 0x100000001b3;
constexpr int LARGEST_BUFFER = 16 << 20;
constexpr int NEVER = 1 << 30;

template <class Function>
Function find(const char *name)
{
    return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

} // namespace

lockstep::lockstep(uint64_t seed)
    : step_fabric_(find<step_fn>("ufx_swhca_step")), sent_(find<sent_fn>("ufx_swhca_sent")),
      now_ns_(BEGIN_NS), stride_ns_(LEAST_NS), digest_(FNV_OFFSET)
{
    const char *engine = std::getenv("UFX_SWHCA_ENGINE");
    const auto seed_fabric = find<void (*)(uint64_t)>("ufx_swhca_seed");
    if (step_fabric_ == nullptr || sent_ == nullptr || seed_fabric == nullptr ||
        engine == nullptr || std::string_view(engine) != "step") {
        throw usage_error(
            "--lockstep: the fabric, too, must be stepped: "
            "ufx_swhca run --hca 4 --engine step -- ufx_perftest soak --lockstep ...");
    }
    // No thread reads events or tells of memory at a moment of its own: the first by a setting, and
    // there is nothing to tell as long as no memory goes back to the system.
    (void)::setenv("UFX_IB_EVENT_THREAD", "n", 1);
    ufx_ucs_config_reload();
    (void)::mallopt(M_MMAP_THRESHOLD, LARGEST_BUFFER);
    (void)::mallopt(M_TRIM_THRESHOLD, NEVER);
    seed_fabric(seed);
    ufx_ucs_clock_set(read, this);
    ufx_ucs_trace_set_hook(on_trace, this);
}

lockstep::~lockstep()
{
    ufx_ucs_trace_set_hook(nullptr, nullptr);
    ufx_ucs_clock_set(nullptr, nullptr);
}

void lockstep::step(bool was_busy)
{
    stride_ns_ = was_busy ? LEAST_NS : std::min(stride_ns_ * 2, MOST_NS);
    const uint64_t by_ns = std::clamp(fabric_due_ns_, LEAST_NS, stride_ns_) + sent_() * NS_PER_BYTE;
    now_ns_ += by_ns;
    fabric_due_ns_ = step_fabric_(by_ns);
}

void lockstep::note(std::string_view what, uint64_t number)
{
    mix(what.data(), what.size());
    mix(&number, sizeof(number));
    mix(&now_ns_, sizeof(now_ns_));
}

uint64_t lockstep::read(void *arg) noexcept
{
    return static_cast<lockstep *>(arg)->now_ns_;
}

void lockstep::on_trace(void *arg, const char *name)
{
    static_cast<lockstep *>(arg)->note(name, 0);
}

void lockstep::mix(const void *bytes, size_t size)
{
    const auto *at = static_cast<const unsigned char *>(bytes);
    for (size_t i = 0; i < size; ++i) {
        digest_ = (digest_ ^ at[i]) * FNV_PRIME;
    }
}

} // namespace ufx::tools::soak
