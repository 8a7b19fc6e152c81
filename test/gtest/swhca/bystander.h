// SPDX-License-Identifier: BSD-3-Clause
// bystander: a process that has no part in two QPs runs them, as every engine does, and is killed
// at one of its stores to the image: their owner lives and must not notice.
#ifndef UFX_TEST_SWHCA_BYSTANDER_H
#define UFX_TEST_SWHCA_BYSTANDER_H

#include "rig.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ufx::test {

inline constexpr uint8_t no_timeout = 0; // nobody may wait for a timer
inline constexpr uint8_t some_timeout = 8;

// What the owner of the QPs wants done, and how it must end.
class scene {
public:
    explicit scene(const qp_settings &with, const swhca::fabric_options &options)
        : on_(with, options)
    {
    }
    virtual ~scene() = default;

    scene(const scene &) = delete;
    scene &operator=(const scene &) = delete;

    // Kills the bystander before its store number `stores`; how many stores there were if it was
    // unharmed, else 0.
    uint64_t killed_at(uint64_t stores);

    // What is wrong in the end, or an empty string.
    std::string verdict();

protected:
    virtual void post() = 0;
    // After the death: before anybody looks at what the dead left, and afterwards.
    virtual void at_death() {}
    virtual void go_on() {}
    [[nodiscard]] virtual size_t left_count() const = 0; // of completions
    [[nodiscard]] virtual size_t right_count() const = 0;
    virtual std::string check() = 0;

    // Polls both CQs; whether there is nothing to wait for.
    bool collect();

    // Whether no event came, and both QPs work.
    bool undisturbed();

    pair on_;
    std::vector<cqe> left_, right_; // completions that came
};

[[nodiscard]] inline swhca::fabric_options with_latency()
{
    swhca::fabric_options options = rig::two_devices();
    options.latency_ns = 5000;
    return options;
}

// Those of `all` that are of requests, or those that are of receives.
[[nodiscard]] std::vector<cqe> of_kind(const std::vector<cqe> &all, bool request);

// Whether `sent` are `count` requests that ended well and in order.
[[nodiscard]] bool all_well(const std::vector<cqe> &sent, size_t count);

// Kills at stores that are spread over all that a scene takes.
void kill_bystanders(const std::function<std::unique_ptr<scene>()> &make);

} // namespace ufx::test

#endif
