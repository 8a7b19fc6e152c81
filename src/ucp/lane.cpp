// SPDX-License-Identifier: BSD-3-Clause
// A lane: handshake, seal and purge plumbing between the core and uct.
#include "ucp/lane.h"

#include "ucp/causes.h"
#include "ucp/ep.h"
#include "ucp/mem_table.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucp/worker.h"
#include "ucs/bytes.h"
#include "ucs/log.h"
#include "ucs/trace_point.h"

#include <algorithm>
#include <cstring>

namespace ufx::ucp {

// ---- The address that crosses in LANE_REQ and LANE_REP ----------------------------------------
//   u32 generation of the device, u8 length + device address, u8 length + iface address, u8 length
//   + ep address; for a probe lane u64 address of the sender's probe place, u8 length + packed key.

namespace {

struct parsed_address {
    std::uint32_t generation = 0;
    std::span<const std::byte> device;
    std::span<const std::byte> iface;
    std::span<const std::byte> ep;
    std::uint64_t probe_addr = 0;
    std::span<const std::byte> probe_key;
};

ucs::result<parsed_address> parse_address(const core::lane_address &from,
                                          const ufx_uct_iface_attr_t &attr)
{
    ucs::byte_reader r(from.bytes.data(), from.size);
    parsed_address to;
    to.generation = r.le32();
    to.device = r.bytes(r.u8());
    to.iface = r.bytes(r.u8());
    to.ep = r.bytes(r.u8());
    if (r.ok() && r.remaining() > 0) {
        to.probe_addr = r.le64();
        to.probe_key = r.bytes(r.u8());
    }
    if (!r.at_end() || to.device.size() != attr.device_addr_len ||
        to.iface.size() != attr.iface_addr_len || to.ep.size() != attr.ep_addr_len) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return to;
}

} // namespace

lane::lane(peer &owner_peer, ep *owner, rail &port, const core::lane_ref &ref)
    : peer_(owner_peer), owner_(owner), port_(port), ref_(ref),
      remote_index_(owner_peer.remote_index(ref.rail)), needs_memh_(port.needs_memh())
{
    quiet_.func = &on_quiet;
    quiet_.self = this;
    nop_.func = &on_nop;
    nop_.self = this;
}

ucs::result<ucs::owner<lane>> lane::create(peer &owner_peer, ep *owner, rail &port,
                                           const core::lane_ref &ref)
{
    ucs::owner<lane> made = ucs::make_owner<lane>(owner_peer, owner, port, ref);
    const ufx_status_t status = made->open();
    if (status != UFX_OK) {
        return status;
    }
    return made;
}

lane::~lane()
{
    port_.remove_lane(*this);
    if (uct_ != nullptr) {
        ufx_uct_ep_destroy(uct_);
    }
    if (has_probe_rkey) {
        ufx_uct_md_rkey_release(port_.md()->md.get(), &probe_rkey);
    }
    if (probe_place_) {
        port_.probes().give_back(*probe_place_);
    }
}

const ufx_uct_iface_attr_t &lane::attr() const
{
    return port_.attr();
}

ufx_status_t lane::open()
{
    if (owner_ == nullptr) {
        const auto place = port_.probes().take();
        if (!place) {
            return place.error();
        }
        probe_place_ = *place;
    }
    if ((attr().caps & UFX_UCT_CAP_CONNECT_TO_EP) != 0) {
        const ufx_status_t created = create_uct({});
        if (created != UFX_OK) {
            return created;
        }
    }
    port_.add_lane(*this);
    return fill_address();
}

ufx_status_t lane::create_uct(ufx_uct_ep_params_t params)
{
    params.field_mask |= UFX_UCT_EP_PARAM_USER_DATA;
    params.user_data = this;
    const ufx_status_t created = ufx_uct_ep_create(port_.iface(), &params, &uct_);
    if (created != UFX_OK) {
        uct_ = nullptr;
        return created;
    }
    ufx_uct_ep_attr_t got{};
    got.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN;
    if (ufx_uct_ep_query(uct_, &got) == UFX_OK) {
        (void)tx_.assign({got.tx_token, got.tx_token_len});
    }
    return UFX_OK;
}

ufx_status_t lane::fill_address()
{
    const rail_address here = port_.read_address();
    ucs::byte_writer w(address_.bytes.data(), address_.bytes.size());
    w.le32(port_.generation());
    w.u8(static_cast<std::uint8_t>(here.device_addr.size()));
    w.bytes(here.device_addr.data(), here.device_addr.size());
    w.u8(static_cast<std::uint8_t>(here.iface_addr.size()));
    w.bytes(here.iface_addr.data(), here.iface_addr.size());
    w.u8(static_cast<std::uint8_t>(attr().ep_addr_len));
    std::byte *ep_addr = w.reserve(attr().ep_addr_len);
    if (uct_ != nullptr && ep_addr != nullptr && attr().ep_addr_len > 0) {
        const ufx_status_t got = ufx_uct_ep_get_address(uct_, ep_addr);
        if (got != UFX_OK) {
            return got;
        }
    }
    if (owner_ == nullptr) {
        write_probe_place(w);
    }
    if (!w.ok()) {
        ufx_error("%s: addresses of this transport do not fit into a handshake",
                  port_.name().c_str());
        return UFX_ERR_UNSUPPORTED;
    }
    address_.size = static_cast<std::uint8_t>(w.size());
    return UFX_OK;
}

void lane::write_probe_place(ucs::byte_writer &w)
{
    const std::size_t size = port_.probe_key_size();
    w.le64(reinterpret_cast<std::uintptr_t>(port_.probes().target(*probe_place_)));
    w.u8(static_cast<std::uint8_t>(size));
    if (std::byte *key = w.reserve(size); key != nullptr && size > 0) {
        (void)ufx_uct_md_mkey_pack(port_.md()->md.get(), port_.probes().memh(*probe_place_), key);
    }
}

bool lane::is_registered(const mem *memory) const
{
    return memory != nullptr && memory->handle(port_.domain()) != nullptr;
}

ufx_status_t lane::connect(const core::lane_address &address, const core::token &peer_tx)
{
    const auto parsed = parse_address(address, attr());
    if (!parsed) {
        return parsed.error();
    }
    peer_tx_ = peer_tx;
    remote_generation_ = parsed->generation;
    if (owner_ == nullptr) {
        probe_addr = parsed->probe_addr;
        has_probe_rkey = ufx_uct_md_rkey_unpack(port_.md()->md.get(), parsed->probe_key.data(),
                                                parsed->probe_key.size(), &probe_rkey) == UFX_OK;
    }
    if (uct_ != nullptr) {
        return ufx_uct_ep_connect_to_ep(uct_, parsed->device.data(), parsed->iface.data(),
                                        parsed->ep.data());
    }
    ufx_uct_ep_params_t params{};
    params.field_mask = UFX_UCT_EP_PARAM_DEVICE_ADDR | UFX_UCT_EP_PARAM_IFACE_ADDR;
    params.device_addr = parsed->device.data();
    params.iface_addr = parsed->iface.data();
    return create_uct(params);
}

ufx_uct_ep_attr_t lane::look() const
{
    ufx_uct_ep_attr_t attr{};
    attr.field_mask = UFX_UCT_EP_ATTR_OUTSTANDING | UFX_UCT_EP_ATTR_PROGRESS;
    if (uct_ == nullptr || ufx_uct_ep_query(uct_, &attr) != UFX_OK) {
        attr = {};
    }
    return attr;
}

bool lane::has_outstanding() const
{
    return look().outstanding_ops != 0;
}

void lane::mark_port_up()
{
    const ufx_uct_ep_attr_t now = look();
    beat.port_mark = now.outstanding_ops != 0 ? now.completed_ops + now.outstanding_ops : 0;
}

bool lane::stuck_since_port_up() const
{
    const ufx_uct_ep_attr_t now = look();
    return now.outstanding_ops != 0 && now.completed_ops < beat.port_mark;
}

// ---- Failure, seal, purge --------------------------------------------------------------------

void lane::failed(const ufx_uct_error_t &error)
{
    if (error_cause_ == UFX_UCT_CAUSE_NONE) {
        error_cause_ = error.cause;
        if ((error.field_mask & UFX_UCT_ERROR_OP) != 0) {
            guilty_ = error.op_index;
        }
        ufx_info("%s: lane %lx/%u to %016lx failed: %s (%s)", port_.name().c_str(), ref_.ep,
                 ref_.epoch, peer_.uuid(), error.text != nullptr ? error.text : "no reason given",
                 ufx_ucs_status_name(error.status));
    }
    const core::cause why = cause_of(error.cause);
    own_error_ = why == core::cause::OWN_QP_ERROR || why == core::cause::PROTECTION;
    open_ = false;
    peer_.event([&](core::peer &m, core::time_ns now, core::action_list &out) {
        m.lane_failed(ref_, why, now, out);
    });
}

void lane::quiesce()
{
    open_ = false;
    if (uct_ == nullptr) {
        report_quiet(UFX_OK);
        return;
    }
    quiet_.count = 1;
    quiet_.status = UFX_OK;
    const ufx_status_t status = ufx_uct_ep_invalidate(uct_, &quiet_);
    if (status != UFX_INPROGRESS) {
        report_quiet(status);
    }
}

void lane::on_quiet(ufx_uct_completion_t *comp) noexcept
{
    static_cast<completion *>(comp)->self->report_quiet(comp->status);
}

void lane::report_quiet(ufx_status_t status)
{
    closed_in_order_ = status == UFX_OK;
    peer_.event([&](core::peer &m, core::time_ns now, core::action_list &out) {
        m.lane_quiet(ref_, own_error_, now, out);
    });
}

core::landed_position lane::read_token() const
{
    core::landed_position landed;
    if (uct_ == nullptr || peer_tx_.size == 0) {
        return landed; // never connected: nothing can have landed
    }
    std::uint8_t rx[UFX_UCT_TOKEN_MAX];
    std::size_t length = sizeof(rx);
    ufx_uct_token_grade_t grade = UFX_UCT_GRADE_BLIND;
    const ufx_status_t status = ufx_uct_iface_query_token(port_.iface(), peer_tx_.bytes.data(),
                                                          peer_tx_.size, rx, &length, &grade);
    if (status == UFX_ERR_NO_ELEM && closed_in_order_) {
        return landed; // the peer's ep was never seen here
    }
    landed.nothing = false;
    landed.grade = status == UFX_OK ? static_cast<core::grade>(grade)
                   : status == UFX_ERR_IO && grade == UFX_UCT_GRADE_OPEN ? core::grade::OPEN
                                                                         : core::grade::BLIND;
    if (!closed_in_order_ && landed.grade == core::grade::EXACT) {
        landed.grade = core::grade::BLIND;
    }
    if (landed.grade == core::grade::EXACT) {
        (void)landed.rx.assign({rx, length});
    }
    return landed;
}

struct lane::purge_run {
    lane *self;
    std::vector<core::purged_op> ops;
};

ufx_status_t lane::on_purged(void *arg, const ufx_uct_op_desc_t *op, ufx_uct_verdict_t verdict,
                             std::size_t bytes) noexcept
{
    auto &run = *static_cast<purge_run *>(arg);
    run.self->peer_.or_die([&] { run.self->add_purged(run.ops, op, verdict, bytes); });
    return UFX_OK;
}

void lane::add_purged(std::vector<core::purged_op> &ops, const ufx_uct_op_desc_t *op,
                      ufx_uct_verdict_t verdict, std::size_t bytes)
{
    if (ops.empty()) {
        ucs::trace_point("mid_purge");
    }
    const bool ours = op->comp == &nop_ || op->comp == &quiet_ ||
                      (op->kind == UFX_UCT_OP_AM && op->am_id == uct_am_control) ||
                      owner_ == nullptr;
    if (ours) {
        core::purged_op nop;
        nop.fragment.kind = core::op_kind::NOP;
        nop.verdict = static_cast<core::verdict>(verdict);
        ops.push_back(nop);
        return;
    }
    ops.push_back(owner_->tx.on_purge(*this, op, static_cast<core::verdict>(verdict), bytes));
}

void lane::purge(const core::landed_position &landed)
{
    purge_run run{this, {}};
    nop_.busy = false;
    if (uct_ != nullptr) {
        const std::uint64_t count = look().outstanding_ops;
        run.ops.reserve(count);
        peer_.home().requests.expect_names(count);
        const bool token = landed.grade == core::grade::EXACT && !landed.nothing;
        const ufx_status_t status = ufx_uct_ep_outstanding_purge(
            uct_, static_cast<ufx_uct_token_grade_t>(landed.grade),
            token ? landed.rx.bytes.data() : nullptr, token ? landed.rx.size : 0, &on_purged, &run);
        if (status == UFX_ERR_BAD_MESSAGE) {
            ufx_warn("%s: the peer %016lx sent a token that does not parse: taken as BLIND",
                     port_.name().c_str(), peer_.uuid());
            (void)ufx_uct_ep_outstanding_purge(uct_, UFX_UCT_GRADE_BLIND, nullptr, 0, &on_purged,
                                               &run);
        }
    }
    for (const core::purged_op &op : run.ops) {
        peer_.count_purged(op);
    }
    port_.forget_speed();
    const bool had_traffic = std::any_of(run.ops.begin(), run.ops.end(), [](const auto &op) {
        return op.fragment.kind != core::op_kind::NOP;
    });
    if (had_traffic && owner_ != nullptr && owner_->has_open_lane()) {
        peer_.stats().switched();
    }
    peer_.stats().purged(peer_.now());
    peer_.event([&](core::peer &m, core::time_ns now, core::action_list &out) {
        m.purged(ref_, run.ops, now, out);
    });
}

void lane::send_control(const control_part &head, std::span<const std::uint8_t> frame)
{
    if (!control_) {
        control_.emplace(uct_, attr().am.max_bcopy);
    }
    control_->send(head, frame);
}

void lane::post_nop()
{
    if (uct_ == nullptr || nop_.busy) {
        return;
    }
    nop_.count = 1;
    nop_.status = UFX_OK;
    const ufx_status_t status = ufx_uct_ep_check(uct_, &nop_);
    nop_.busy = status == UFX_INPROGRESS;
    if (status == UFX_OK) {
        nop_done(UFX_OK);
    }
}

void lane::on_nop(ufx_uct_completion_t *comp) noexcept
{
    auto *done = static_cast<completion *>(comp);
    done->busy = false;
    done->self->nop_done(comp->status);
}

void lane::nop_done(ufx_status_t status)
{
    if (status == UFX_OK) {
        peer_.event([&](core::peer &m, core::time_ns now, core::action_list &out) {
            m.rail_progress(ref_.rail, now, out);
        });
    }
}

} // namespace ufx::ucp
