// SPDX-License-Identifier: BSD-3-Clause
// A lane: one uct ep of one ep (or of a rail's probe) on one rail, with its epoch.
#ifndef UFX_UCP_LANE_H
#define UFX_UCP_LANE_H

#include "ucp/core/action.h"
#include "ucp/core/ep.h"
#include "ucp/lane_control.h"
#include "ucp/tx_port.h"
#include "ucs/bytes.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <ufx/uct.h>

#include <optional>
#include <span>
#include <vector>

namespace ufx::ucp {

class ep;
class mem;
class peer;
class rail;

// Plumbing between the core's actions and uct. All states are the core's; a lane object lives from
// create_lane to release_lane.
class lane {
public:
    static ucs::result<ucs::owner<lane>> create(peer &owner_peer, ep *owner, rail &port,
                                                const core::lane_ref &ref);
    ~lane();
    lane(const lane &) = delete;
    lane &operator=(const lane &) = delete;

    const core::lane_ref &ref() const { return ref_; }
    // nullptr: a probe lane.
    ep *owner() const { return owner_; }
    peer &remote() const { return peer_; }
    rail &port() const { return port_; }
    ufx_uct_ep_h uct() const { return uct_; }
    // The peer's device at the other end.
    unsigned remote_index() const { return remote_index_; }
    // How often the peer had opened that device when the lane was wired.
    std::uint32_t remote_generation() const { return remote_generation_; }
    const ufx_uct_iface_attr_t &attr() const;

    // Fragments may be posted: it is LIVE and its rail is UP.
    bool is_open() const { return open_; }
    void set_open(bool open) { open_ = open; }

    // Zero copy works with that memory (nullptr: none of ucp's): its device needs no registration,
    // or has one.
    bool serves(const mem *memory) const { return !needs_memh_ || is_registered(memory); }

    // Handshake.
    const core::lane_address &address() const { return address_; }
    const core::token &tx_token() const { return tx_; }
    ufx_status_t connect(const core::lane_address &address, const core::token &peer_tx);

    // Seal, steps 1 to 3; tells the core by peer::lane_quiet, at once or later.
    void quiesce();
    core::landed_position read_token() const;
    void purge(const core::landed_position &landed);
    // A control frame for the peer; it may have to wait for room.
    void send_control(const control_part &head, std::span<const std::uint8_t> frame);
    // One signaled NOP; its completion is progress.
    void post_nop();
    // Called by the iface's error handler.
    void failed(const ufx_uct_error_t &error);
    // Why the uct ep failed; NONE while it has not.
    ufx_uct_error_cause_t error_cause() const { return error_cause_; }
    // The transport said which operation it failed by.
    bool knows_guilty() const { return guilty_.has_value(); }
    bool is_guilty(std::uint64_t op_index) const { return guilty_ == op_index; }

    // Operations, of whatever kind, that uct has not completed.
    bool has_outstanding() const;
    // The port came back: what is outstanding now should complete soon.
    void mark_port_up();
    bool stuck_since_port_up() const;

    // One check of a stall (rail.cpp).
    struct pulse {
        std::uint64_t completed = 0;
        std::uint64_t acked = 0;
        core::time_ns since = 0;     // active time of the last sign of life
        core::time_ns seen = 0;      // clock time of it
        core::time_ns still_since = 0; // clock time since which nothing moves, whoever holds it up
        bool is_delivered = false;     // the network owes nothing
        double bytes_per_ns = 0;     // measured
        std::uint64_t port_mark = 0; // completed_ops when all of before the port came back is done
        bool had_work = false;
        bool asked = false; // by a NOP, whether anything moves
        bool stalled = false;
    };
    pulse beat;

    // Written by ep_tx: what is posted and not final.
    std::uint64_t outstanding_bytes = 0;
    std::uint64_t rma_bytes = 0; // of puts and gets among them
    std::uint64_t outstanding = 0;
    std::uint64_t posted = 0;
    tx_port room;
    // Where the peer's probe region is (probe lanes).
    std::uint64_t probe_addr = 0;
    ufx_uct_rkey_bundle_t probe_rkey{UFX_UCT_INVALID_RKEY, nullptr};
    bool has_probe_rkey = false;
    // In the memory of port().probes().
    unsigned probe_place() const { return probe_place_.value_or(0); }

private:
    struct completion : ufx_uct_completion_t {
        lane *self = nullptr;
        bool busy = false;
    };
    struct purge_run;
    friend struct ucs::owner_access;
    lane(peer &owner_peer, ep *owner, rail &port, const core::lane_ref &ref);
    bool is_registered(const mem *memory) const;
    ufx_status_t open();
    ufx_status_t create_uct(ufx_uct_ep_params_t params);
    ufx_status_t fill_address();
    void write_probe_place(ucs::byte_writer &w);
    void nop_done(ufx_status_t status);
    ufx_uct_ep_attr_t look() const;
    void report_quiet(ufx_status_t status);
    static void on_quiet(ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    static void on_nop(ufx_uct_completion_t *comp) UFX_NOEXCEPT;
    void add_purged(std::vector<core::purged_op> &ops, const ufx_uct_op_desc_t *op,
                    ufx_uct_verdict_t verdict, std::size_t bytes);
    static ufx_status_t on_purged(void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t verdict,
                                  std::size_t bytes) UFX_NOEXCEPT;

    peer &peer_;
    ep *owner_;
    rail &port_;
    core::lane_ref ref_;
    unsigned remote_index_;
    std::uint32_t remote_generation_ = 0;
    bool needs_memh_;
    ufx_uct_ep_h uct_ = nullptr;
    std::optional<unsigned> probe_place_; // of probe lanes
    bool open_ = false;
    bool own_error_ = false;
    bool closed_in_order_ = true;
    ufx_uct_error_cause_t error_cause_ = UFX_UCT_CAUSE_NONE;
    std::optional<std::uint64_t> guilty_; // index of the operation
    core::lane_address address_;
    core::token tx_;
    core::token peer_tx_;
    completion quiet_{};
    completion nop_{};
    std::optional<control_sender> control_;
};

} // namespace ufx::ucp

#endif
