// SPDX-License-Identifier: BSD-3-Clause
// A local port of rails: one uct iface of a worker, its events, its signs of trouble, its counters.
//
// What a sign means for a rail (local port, remote port) is the core's business; here it is only
// found: events of the iface, a port query at least once a second (an event may be lost), and
// stalls: outstanding work of a lane without a sign of life for max(50 ms, 4 x srtt, 4 x bytes
// ahead / measured bandwidth), counted while progress is called, and only while the network owes an
// ack.
#ifndef UFX_UCP_RAIL_H
#define UFX_UCP_RAIL_H

#include "ucp/address.h"
#include "ucp/core/types.h"
#include "ucp/handles.h"
#include "ucp/probe_memory.h"
#include "ucp/rail_speed.h"
#include "ucp/silence.h"
#include "ucp/uct_owners.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ufx::ucp {

class lane;
class worker;
struct device;

class rail {
public:
    static ucs::result<ucs::owner<rail>> create(worker &w, const device &dev, unsigned index);
    ~rail();
    rail(const rail &) = delete;
    rail &operator=(const rail &) = delete;

    worker &home() const { return worker_; }
    unsigned index() const { return index_; }
    const std::string &name() const { return name_; }
    // Whose IP address it has, for control connections.
    const std::string &interface() const { return interface_; }
    // Bound to an IP address, and so to its subnet; else its transport knows whom it reaches.
    bool is_bound() const { return !has_netdev_; }
    const std::string &transport() const { return transport_; }
    const md_ref &md() const { return md_ref_; }
    // How often its domain had been opened when the iface was.
    std::uint32_t generation() const { return md_ref_->number; }
    ufx_uct_iface_h iface() const { return iface_.get(); }
    const ufx_uct_iface_attr_t &attr() const { return attr_; }
    // Out of service by the user: for every peer, also for those to come.
    bool is_drained() const { return drained_; }
    void set_drained(bool drained) { drained_ = drained; }
    bool port_active() const { return port_active_; }
    // Its device has failed, and is not open again.
    bool is_lost() const { return is_lost_; }
    bool link_injected_down() const { return injected_down_; }

    // The uct addresses as they are now; read again before they are published.
    rail_address read_address() const;
    // By what its transport knows.
    bool reaches(const rail_address &other) const;
    probe_memory &probes() { return probes_; }
    std::size_t probe_key_size() const;
    std::size_t published_size() const;
    // Index into context::domains().
    std::size_t domain() const { return md_; }
    // Its device needs local buffers registered.
    bool needs_memh() const;

    void add_lane(lane &l) { lanes_.push_back(&l); }
    void remove_lane(lane &l);
    const std::vector<lane *> &lanes() const { return lanes_; }
    bool has_outstanding() const;
    // Bytes per second: as measured, or as the device says.
    const rail_speed &speed() const { return speed_; }
    // What was posted there was taken back.
    void forget_speed() { speed_.forget(); }

    // Looks for stalls and for a port that changed without an event.
    void poll(core::time_ns now, core::time_ns active);
    ufx_status_t set_link(bool up);

    // Counters of the data path; ep_tx and ep_rx write them.
    struct counters {
        std::uint64_t tx_bytes = 0;
        std::uint64_t rx_bytes = 0;
        std::uint64_t posted = 0;
        std::uint64_t completed = 0;
        std::uint64_t failures = 0;
        std::uint64_t recoveries = 0;
    };
    counters count;
    // Of all its lanes, of whatever ep: posted and not final. From ep_tx.
    std::uint64_t outstanding_bytes() const { return outstanding_; }
    void posted(std::uint64_t bytes) { outstanding_ += bytes; }
    void ended(std::uint64_t bytes)
    {
        outstanding_ -= bytes;
        least_ = std::min(least_, outstanding_);
    }

private:
    friend struct ucs::owner_access;
    rail(worker &w, const device &dev, unsigned index);
    ufx_status_t open();
    ufx_status_t open_device();
    ufx_status_t set_handlers(ufx_uct_iface_h iface);
    void device_lost();
    void forget_keys(const md_ref &lost) noexcept;
    void reopen();
    void check_stall(lane &l, core::time_ns now, core::time_ns active);
    core::time_ns stall_limit(const lane &l, const ufx_uct_ep_attr_t &now) const;
    void port_changed(bool active, const char *text);
    void query_port();
    template <class F>
    void tell_peers(F &&tell);
    static ufx_status_t on_ep_error(void *arg, ufx_uct_ep_h ep,
                                    const ufx_uct_error_t *error) UFX_NOEXCEPT;
    static void on_event(void *arg, ufx_uct_iface_h iface,
                         const ufx_uct_iface_event_t *event) UFX_NOEXCEPT;
    void take_event(const ufx_uct_iface_event_t &event);

    worker &worker_;
    unsigned index_;
    std::string name_;
    std::string interface_;
    bool has_netdev_;
    std::string transport_;
    std::size_t md_ = 0;
    md_ref md_ref_;
    iface_owner iface_;
    ufx_uct_iface_attr_t attr_{};
    bool drained_ = false;
    bool port_active_ = true;
    bool injected_down_ = false;
    bool is_lost_ = false;           // its device failed, and is not open again
    core::time_ns next_port_poll_ = 0;
    rail_speed speed_;
    std::uint64_t outstanding_ = 0;
    std::uint64_t least_ = 0; // of outstanding_, since speed_ looked
    std::uint64_t ended_seen_ = 0; // bytes that had ended when speed_ looked
    std::vector<lane *> lanes_;
    lane_silence silence_;
    probe_memory probes_;
};

} // namespace ufx::ucp

#endif
