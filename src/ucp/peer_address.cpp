// SPDX-License-Identifier: BSD-3-Clause
// Addresses of a peer's ports, and ours as that peer knows them: kept fresh by ADDR.
#include "ucp/control_path.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "ucs/log.h"

#include <algorithm>

namespace ufx::ucp {

std::vector<control_link::target> peer::control_targets() const
{
    std::vector<control_link::target> targets;
    for (const core::rail_id id : core_.rail_ids()) {
        for (const rail_address &there : address_.rails) {
            if (there.index == remote_index(id) && there.control.ss_family != AF_UNSPEC) {
                targets.push_back({static_cast<int>(local_index(id)), there.control, false});
            }
        }
    }
    return targets;
}

std::vector<control_link::target> peer::all_control_targets() const
{
    std::vector<control_link::target> targets;
    for (const auto &here : worker_.rails()) {
        for (const rail_address &there : address_.rails) {
            if (there.control.ss_family != AF_UNSPEC) {
                targets.push_back({static_cast<int>(here->index()), there.control, false});
            }
        }
    }
    return targets;
}

// Does nothing if the peer was told so before.
void peer::publish_address(unsigned local)
{
    const auto &ids = core_.rail_ids();
    const auto named = std::find_if(ids.begin(), ids.end(),
                                    [&](core::rail_id id) { return local_index(id) == local; });
    if (is_self() || is_dead() || named == ids.end()) {
        return;
    }
    published &last = published_[local];
    std::vector<std::uint8_t> bytes = encode(worker_.address_of(*worker_.rails()[local]));
    core::addr_msg msg{addr_serial_ + 1, *named, {}};
    if (bytes == last.bytes || !msg.address.assign(bytes)) {
        return;
    }
    addr_serial_ = msg.serial;
    last = {msg.serial, std::move(bytes)};
    send_until_answered({question::about::ADDR, local}, msg);
}

void peer::on_addr(const core::addr_msg &msg)
{
    send(core::addr_ack_msg{msg.serial});
    const auto fresh = decode_rail_address(msg.address.view());
    if (fresh && fresh->index == remote_index(msg.rail)) {
        learn_address(*fresh, msg.serial);
    }
}

void peer::on_addr_ack(const core::addr_ack_msg &msg)
{
    for (const auto &[local, last] : published_) {
        if (last.serial == msg.serial && msg.serial != 0) {
            answered({question::about::ADDR, local});
        }
    }
}

// Lanes are wired with the addresses in REQ and REP; control connections need those that are kept.
void peer::learn_address(const rail_address &fresh, std::uint64_t serial)
{
    for (rail_address &known : address_.rails) {
        if (known.index != fresh.index || known.transport != fresh.transport ||
            serial < learned_[known.index]) {
            continue;
        }
        learned_[known.index] = serial;
        control_link *link = worker_.control().find_link(uuid());
        if (link != nullptr && !same_address(known.control, fresh.control)) {
            ufx_info("peer %016lx: control of its rail %u moved from %s to %s", uuid(), known.index,
                     text_of(known.control).c_str(), text_of(fresh.control).c_str());
            link->replace_address(known.control, fresh.control);
        }
        known = fresh;
    }
}

} // namespace ufx::ucp
