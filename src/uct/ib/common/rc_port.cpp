// SPDX-License-Identifier: BSD-3-Clause
// Reads a port and chooses its GID.
#include "rc_port.h"

#include "ucs/log.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ufx::uct::ib {

namespace {

constexpr size_t subnet_prefix = 8; // bytes of an InfiniBand GID

std::vector<gid_entry> usable_gids(const std::vector<gid_entry> &table, int wanted_index)
{
    std::vector<unsigned> order = rank_gids(table);
    if (wanted_index >= 0) {
        order = {static_cast<unsigned>(wanted_index)};
    }
    std::vector<gid_entry> usable;
    for (const unsigned index : order) {
        const auto found = std::find_if(table.begin(), table.end(),
                                        [index](const auto &one) { return one.index == index; });
        if (found != table.end()) {
            usable.push_back(*found);
        }
    }
    return usable;
}

} // namespace

rc_port::rc_port(const device &on, uint8_t port, const rc_config &config) noexcept
    : device_(&on), number_(port), wanted_index_(config.gid_index), mtu_limit_(config.path_mtu),
      asks_routes_(config.asks_routes)
{
}

ucs::result<rc_port> rc_port::open(const device &on, uint8_t port, const rc_config &config)
{
    if (port == 0 || port > on.attr().phys_port_cnt) {
        return UFX_ERR_NO_DEVICE;
    }
    if (!on.query_port(port)) {
        ufx_warn("%s:%u: the port cannot be queried", on.name().c_str(), port);
        return UFX_ERR_IO;
    }
    rc_port made(on, port, config);
    if (made.refresh() == refreshed::failed) {
        return UFX_ERR_NO_DEVICE;
    }
    return made;
}

refreshed rc_port::refresh()
{
    const ucs::result<port_state> now = device_->query_port(number_);
    std::vector<gid_entry> usable = usable_gids(device_->gid_table(number_), wanted_index_);
    if (!now || usable.empty()) {
        if (complaints_.allow(ucs::now_ns())) {
            ufx_error("%s:%u: %s", device_->name().c_str(), number_,
                      !now                 ? "the port cannot be queried"
                      : wanted_index_ >= 0 ? "the GID at UFX_IB_GID_INDEX is not set"
                                           : "no GID of the port can be used");
        }
        failed_ = true;
        return refreshed::failed;
    }
    if (wanted_index_ >= 0 && now->ethernet && usable.front().netdev.empty()) {
        ufx_warn("%s:%u: the GID at UFX_IB_GID_INDEX=%d has no network interface",
                 device_->name().c_str(), number_, wanted_index_);
    }
    const std::optional<size_t> chosen = same_choice(usable);
    const bool same = chosen && !failed_ && now->lid == state_.lid &&
                      now->mtu_shift == state_.mtu_shift && now->ethernet == state_.ethernet;
    if (same && usable != usable_) {
        ufx_info("%s:%u: GIDs changed, but not %s, which is in use", device_->name().c_str(),
                 number_, gid_text(usable_[chosen_].gid).data());
    }
    state_ = *now;
    usable_ = std::move(usable);
    chosen_ = chosen.value_or(0);
    failed_ = false;
    return same ? refreshed::unchanged : refreshed::changed;
}

// Where the GID in use is in a table that was read again; nothing if another one is better now.
std::optional<size_t> rc_port::same_choice(const std::vector<gid_entry> &usable) const noexcept
{
    if (usable_.empty() || !usable.front().is_same_as(usable_.front())) {
        return std::nullopt;
    }
    const auto found = std::find_if(usable.begin(), usable.end(), [this](const gid_entry &one) {
        return one.is_same_as(usable_[chosen_]);
    });
    return found == usable.end() ? std::nullopt : std::optional<size_t>(found - usable.begin());
}

void rc_port::refresh_state() noexcept
{
    const ucs::result<port_state> now = device_->query_port(number_);
    state_.active = now && now->active;
}

port_address rc_port::address() const noexcept
{
    uint8_t shift = state_.mtu_shift;
    if (mtu_limit_ != 0) {
        shift = std::min(shift, static_cast<uint8_t>(std::countr_zero(mtu_limit_)));
    }
    return {.ethernet = state_.ethernet,
            .mtu_shift = shift,
            .lid = state_.lid,
            .gid = usable_[chosen_].gid};
}

port_path rc_port::path(size_t choice) const noexcept
{
    return {.port = number_,
            .ethernet = state_.ethernet,
            .gid_index = static_cast<uint8_t>(usable_[place_of(choice)].index),
            .mtu_shift = address().mtu_shift};
}

// The chosen one comes first, the others keep their order.
size_t rc_port::place_of(size_t choice) const noexcept
{
    return choice == 0 ? chosen_ : choice <= chosen_ ? choice - 1 : choice;
}

void rc_port::adopt(size_t choice) noexcept
{
    chosen_ = place_of(choice);
    ufx_warn("%s:%u: goes on with GID %u (%s)", device_->name().c_str(), number_,
             usable_[chosen_].index, gid_text(usable_[chosen_].gid).data());
}

bool rc_port::reaches(const port_address &peer)
{
    if (peer.ethernet != state_.ethernet) {
        return false;
    }
    return state_.ethernet
               ? !asks_routes_ || routes_.has(usable_[chosen_], peer.gid)
               : std::memcmp(peer.gid.data(), usable_[chosen_].gid.data(), subnet_prefix) == 0;
}

} // namespace ufx::uct::ib
