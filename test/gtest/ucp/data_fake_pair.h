// SPDX-License-Identifier: BSD-3-Clause
// A pair of workers over two rails of the scripted transport.
#ifndef UFX_TEST_UCP_DATA_FAKE_PAIR_H
#define UFX_TEST_UCP_DATA_FAKE_PAIR_H

#include "data_pair.h"

#include "ucp/control_path.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "uct/fake/fake.h"

#include <utility>

namespace ufx::test {

// The devices live longer than the workers on them.
struct fake_devices {
    static constexpr std::size_t mtu = 1024;

    explicit fake_devices(bool needs_memh = false)
    {
        uct::fake::install();
        uct::fake::reset();
        if (needs_memh) {
            uct::fake::require_registration();
        }
        uct::fake::device_options options;
        options.mtu = mtu;
        options.zcopy_less = needs_memh ? 256 : 0; // as RDMA devices have it
        uct::fake::add_device("fake0", options);
        uct::fake::add_device("fake1", options);
    }
    ~fake_devices() { uct::fake::reset(); }
};

class fake_pair : private fake_devices, public pair {
public:
    using fake_devices::mtu;

    explicit fake_pair(std::uint64_t ep_flags = 0, bool needs_memh = false)
        : fake_devices(needs_memh), pair(options({}, ep_flags))
    {
        settle();
    }
    fake_pair(const char *name, const char *value) : pair(options({{name, value}}, 0)) { settle(); }

    uct::fake::side &own(unsigned rail) { return *sides(rail).at(0); }
    uct::fake::side &peers(unsigned rail) { return *sides(rail).at(1); }
    void rounds(unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            progress();
        }
    }
    // Both rails are ports of it.
    void lose_own_device() { lose_device(0); }
    void lose_peers_device() { lose_device(1); }
    // The lane of that rail breaks at the sender.
    void break_lane(unsigned rail) { own(rail).fail_eps({}); }

private:
    void lose_device(unsigned side_index)
    {
        const ucp::worker &loser = ucp::worker::of(side_index == 0 ? a.worker : b.worker);
        for (const auto &rail : loser.rails()) {
            for (uct::fake::side *each : uct::fake::sides(rail->name())) {
                if (each->iface_handle() == rail->iface()) {
                    each->tell(UFX_UCT_IFACE_DEVICE_FATAL);
                }
            }
        }
        rounds(20);
    }
    // On a slow machine messages are repeated while lanes are wired, and answers to them go over
    // the lanes: they would take the place of packets that a test counts.
    void settle()
    {
        unsigned silent = 0;
        for (const side *s : {&a, &b}) {
            ucp::worker::of(s->worker).control().filter.copies = [&](auto, const auto &) {
                silent = 0;
                return 1;
            };
        }
        for (; silent < 200; ++silent) {
            progress();
        }
        for (const side *s : {&a, &b}) {
            ucp::worker::of(s->worker).control().filter.copies = nullptr;
        }
    }
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

#endif
