// SPDX-License-Identifier: BSD-3-Clause
// A pair of workers over two rails of the scripted transport.
#pragma once

#include "data_pair.h"

#include "uct/fake/fake.h"

#include <utility>

namespace ufx::test {

// The devices live longer than the workers on them.
struct fake_devices {
    static constexpr std::size_t mtu = 1024;

    fake_devices()
    {
        uct::fake::install();
        uct::fake::reset();
        uct::fake::device_options options;
        options.mtu = mtu;
        uct::fake::add_device("fake0", options);
        uct::fake::add_device("fake1", options);
    }
    ~fake_devices() { uct::fake::reset(); }
};

class fake_pair : private fake_devices, public pair {
public:
    using fake_devices::mtu;

    explicit fake_pair(std::uint64_t ep_flags = 0) : pair(options({}, ep_flags)) {}
    fake_pair(const char *name, const char *value) : pair(options({{name, value}}, 0)) {}

    uct::fake::side &own(unsigned rail) { return *sides(rail).at(0); }
    uct::fake::side &peers(unsigned rail) { return *sides(rail).at(1); }
    void rounds(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            progress();
        }
    }
    // The lane of that rail breaks at the sender.
    void break_lane(unsigned rail) { own(rail).fail_eps({}); }

private:
    static pair_options options(std::vector<ufx_ucp_config_entry_t> config, std::uint64_t ep_flags)
    {
        pair_options o;
        o.devices = "fake0,fake1";
        o.config = std::move(config);
        o.memory_size = 1 << 20;
        o.ep_flags = ep_flags;
        return o;
    }
    static std::vector<uct::fake::side *> sides(unsigned rail)
    {
        return uct::fake::sides(rail == 0 ? "fake0" : "fake1");
    }
};

} // namespace ufx::test
