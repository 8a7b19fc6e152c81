// SPDX-License-Identifier: BSD-3-Clause
// The port that an iface uses: its state, and which of its addresses.
#ifndef UFX_UCT_IB_COMMON_RC_PORT_H
#define UFX_UCT_IB_COMMON_RC_PORT_H

#include "config.h"
#include "device.h"
#include "known_routes.h"
#include "rc_qp.h"

#include "ucs/clock.h"
#include "ucs/log.h"

#include <optional>
#include <vector>

namespace ufx::uct::ib {

enum class refreshed : uint8_t { unchanged, changed, failed };

class rc_port {
public:
    // NO_DEVICE: there is no such port, or it has no usable GID.
    [[nodiscard]] static ucs::result<rc_port> open(const device &on, uint8_t port,
                                                   const rc_config &config);

    // Asks the device again. Only `unchanged` leaves connections as they are; `failed` has said
    // why, and what comes after it is `changed`, or `failed` again.
    [[nodiscard]] refreshed refresh();

    // Only whether it is active.
    void refresh_state() noexcept;

    [[nodiscard]] uint8_t number() const noexcept { return number_; }

    [[nodiscard]] const port_state &state() const noexcept { return state_; }

    [[nodiscard]] port_address address() const noexcept;

    // GIDs that a connection may try, in their order: 0 is the one in use.
    [[nodiscard]] size_t choices() const noexcept { return usable_.size(); }

    [[nodiscard]] port_path path(size_t choice = 0) const noexcept;

    // That one is in use from here on, until the best one changes.
    void adopt(size_t choice) noexcept;

    // The last refresh failed: the address is not known to be true.
    [[nodiscard]] bool is_stale() const noexcept { return failed_; }

    // Could a peer with this address be reached? With RoCE: there is a route to it by the network
    // interface of the GID. With InfiniBand: it is in the same subnet. Throws bad_alloc.
    [[nodiscard]] bool reaches(const port_address &peer);

private:
    rc_port(const device &on, uint8_t port, const rc_config &config) noexcept;

    [[nodiscard]] std::optional<size_t>
    same_choice(const std::vector<gid_entry> &usable) const noexcept;
    [[nodiscard]] size_t place_of(size_t choice) const noexcept;

    const device *device_;
    uint8_t number_;
    int wanted_index_; // -1: choose
    size_t mtu_limit_; // 0: the port's
    bool asks_routes_;
    known_routes routes_;
    port_state state_{};
    std::vector<gid_entry> usable_; // best first
    size_t chosen_ = 0;             // of usable_
    bool failed_ = false;
    ucs::log_rate complaints_{10 * ucs::ns_per_sec};
};

} // namespace ufx::uct::ib

#endif
