// SPDX-License-Identifier: BSD-3-Clause
// Connecting, completing, failing and becoming quiet of rc_ep. Included where a transport is
// instantiated.
#ifndef UFX_UCT_IB_COMMON_RC_EP_IMPL_H
#define UFX_UCT_IB_COMMON_RC_EP_IMPL_H

#include "rc_ep_atomic_impl.h"
#include "rc_ep_post_impl.h"
#include "rc_ep_short_impl.h"

#include "ucs/bytes.h"
#include "ucs/uuid.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace ufx::uct::ib {

template <class Hw>
ucs::result<ucs::owner<rc_ep<Hw>>> rc_ep<Hw>::create(iface_type &iface,
                                                     const ufx_uct_ep_params_t &params)
{
    const rc_config &config = iface.config();
    auto qp = rc_qp::create({.pd = iface.resources().pd_of_queues(iface.domain()),
                             .send_cq = iface.resources().send_cq.get(),
                             .receive_cq = iface.resources().receive_cq.get(),
                             .srq = iface.resources().srq.get(),
                             .max_requests = config.tx_queue + send_queue::reserved,
                             .max_pieces = send_queue::max_pieces,
                             .max_copied = send_queue::max_copied,
                             .make = send_queue::make_qp},
                            iface.port().number());
    if (!qp) {
        return qp.error();
    }
    auto queue = send_queue::take(qp->get(), config, iface.resources());
    if (!queue) {
        return queue.error();
    }
    auto made = ucs::make_owner<rc_ep>(iface, params, *std::move(qp), *std::move(queue));
    const ufx_status_t status = made->register_records();
    if (status != UFX_OK) {
        return status;
    }
    iface.take_events_of_eps();
    iface.by_qpn().add(made->qpn_, *made);
    return made;
}

template <class Hw>
rc_ep<Hw>::rc_ep(iface_type &iface, const ufx_uct_ep_params_t &params, rc_qp &&qp,
                 send_queue &&queue)
    : base(iface, params, iface.config().tx_queue,
           4 * (iface.config().seg_size + sizeof(am_header))),
      qp_(std::move(qp)), sends_(std::move(queue)), flow_(iface.config().fc_window),
      qpn_(qp_.number()), start_psn_(static_cast<uint32_t>(ucs::random_uuid()) & psn_mask),
      psn_(start_psn_), tag_(ucs::random_uuid()), run_mask_(std::bit_ceil(sends_.size()) - 1),
      runs_(std::make_unique<signaled_run[]>(run_mask_ + 1)), last_run_(&runs_[0])
{
}

template <class Hw>
rc_ep<Hw>::~rc_ep()
{
    destroy_qp();
}

// No completion finds the ep from here on, though it may live until the end of this progress.
template <class Hw>
void rc_ep<Hw>::destroy() noexcept
{
    if (qp_.exists()) { // else another one may have its number
        this->iface().orphan(qpn_);
    }
    base::destroy();
}

template <class Hw>
ufx_status_t rc_ep<Hw>::register_records() noexcept
{
    const std::span<std::byte> memory = this->queue_.memory();
    records_mr_ = this->iface().domain().register_memory(memory.data(), memory.size(),
                                                         IBV_ACCESS_LOCAL_WRITE);
    return records_mr_ == nullptr ? UFX_ERR_NO_MEMORY : UFX_OK;
}

// ---- Connection ------------------------------------------------------------------------------

template <class Hw>
ufx_status_t rc_ep<Hw>::get_address(void *ep_addr) noexcept
{
    const rc_resources &resources = this->iface().resources();
    pack(qp_address{.tag = tag_,
                    .qpn = qpn_,
                    .psn = start_psn_,
                    .flush_addr = reinterpret_cast<uint64_t>(resources.flush_bytes->data()),
                    .flush_rkey = resources.flush_mr->rkey,
                    .max_reads = this->iface().config().max_reads,
                    .seg_size = static_cast<uint32_t>(this->iface().config().seg_size)},
         ep_addr);
    return UFX_OK;
}

template <class Hw>
ufx_status_t rc_ep<Hw>::connect_to_ep(const void *device_addr, const void *, const void *ep_addr)
{
    if (connected_ || this->is_failed()) {
        return this->is_failed() ? this->failed_status() : UFX_ERR_ALREADY_EXISTS;
    }
    const auto peer_port = unpack_port(device_addr);
    const auto peer = unpack_qp(ep_addr);
    if (!peer_port || !peer) {
        return UFX_ERR_BAD_MESSAGE;
    }
    const rc_port &port = this->iface().port();
    if (!this->iface().reaches(*peer_port)) {
        return UFX_ERR_NET_UNREACHABLE;
    }
    if (peer->seg_size < this->iface().config().seg_size) {
        ufx_warn("the peer has receive buffers of %u bytes, but messages of %zu may be sent to it: "
                 "set SEG_SIZE of both sides to the same",
                 peer->seg_size, this->iface().config().seg_size);
        return UFX_ERR_UNSUPPORTED;
    }
    mtu_shift_ = std::min(port.address().mtu_shift, peer_port->mtu_shift);
    size_t choice = 0;
    connected how = connected::path_refused;
    while (how == connected::path_refused && choice < port.choices()) {
        how = qp_.connect(port.path(choice), *peer_port, *peer, start_psn_, mtu_shift_,
                          this->iface().config());
        choice += how == connected::path_refused ? 1 : 0;
    }
    if (how != connected::yes) {
        return UFX_ERR_IO;
    }
    if (choice != 0) {
        this->iface().adopt_gid(choice);
    }
    peer_tag_ = peer->tag;
    peer_port_ = *peer_port;
    peer_qpn_ = peer->qpn;
    flush_addr_ = peer->flush_addr;
    flush_rkey_ = peer->flush_rkey;
    max_quick_ =
        std::min(this->iface().max_zcopy(), quick_packets(this->queue_.capacity()) << mtu_shift_);
    connected_ = true;
    this->go_live();
    if (!this->iface().link_up()) {
        broke({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_INJECTED}, 0,
              "the link was taken down by set_link");
    }
    return UFX_OK;
}

template <class Hw>
ufx_status_t rc_ep<Hw>::query(ufx_uct_ep_attr_t *attr) noexcept
{
    const ufx_status_t status = base::query(attr);
    if ((attr->field_mask & UFX_UCT_EP_ATTR_PROGRESS) != 0) {
        attr->network_unacked = sends_.under_way() != 0 ? 1 : 0;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_TX_TOKEN) != 0) {
        ucs::store_le64(attr->tx_token, tag_);
        attr->tx_token_len = token_len;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_LOCAL_NAME) != 0) {
        std::snprintf(attr->name, sizeof(attr->name), "%s:%u qp 0x%06x %s",
                      this->iface().domain().dev().name().c_str(), this->iface().port().number(),
                      qpn_, qp_.state_name());
    }
    return status;
}

// ---- Errors ----------------------------------------------------------------------------------

// Requests end in order: those before the one that failed have ended well.
template <class Hw>
void rc_ep<Hw>::send_failed(typename send_queue::completion_id id, const send_error &error) noexcept
{
    const uint64_t before = sends_.position_before(id);
    release(sends_.position_after(id));
    if (this->is_failed()) {
        silence_.start(ucs::now_ns());
        return;
    }
    end_until(before);
    const failure what = failure_of(error.status);
    const rc_config &config = this->iface().config();
    char advice[224] = "";
    if (what.cause == UFX_UCT_CAUSE_RETRY_EXCEEDED) {
        std::snprintf(advice, sizeof(advice), "; no answer, %s (UFX_IB_TIMEOUT, _RETRY_COUNT)",
                      describe(config.budget).data());
    } else if (what.cause == UFX_UCT_CAUSE_RNR_EXCEEDED) {
        std::snprintf(advice, sizeof(advice),
                      "; the peer had no receive buffer (UFX_IB_RNR_RETRY_COUNT, _MIN_RNR_TIMER)");
    }
    char text[320];
    std::snprintf(text, sizeof(text), "%s, vendor 0x%02x%s", ibv_wc_status_str(error.status),
                  error.vendor_syndrome, advice);
    broke(what, static_cast<int>(error.status), text);
}

template <class Hw>
void rc_ep<Hw>::broke(const failure &what, int code, const char *text, uint64_t limit_ns) noexcept
{
    silence_limit_ns_ = std::min(silence_limit_ns_, limit_ns);
    if (this->is_failed() || this->is_destroyed()) {
        return;
    }
    char full[480];
    std::snprintf(full, sizeof(full), "%s:%u qp 0x%06x to %s LID %u qp 0x%06x: %s",
                  this->iface().domain().dev().name().c_str(), this->iface().port().number(), qpn_,
                  gid_text(peer_port_.gid).data(), peer_port_.lid, peer_qpn_, text);
    const bool guilty = !this->queue_.empty() && (what.cause == UFX_UCT_CAUSE_REMOTE_ACCESS ||
                                                  what.cause == UFX_UCT_CAUSE_LOCAL_PROT);
    this->fail({guilty ? uint64_t{UFX_UCT_ERROR_OP} : 0, what.status, what.cause, code, full,
                this->queue_.first()});
}

// ---- Flow control ----------------------------------------------------------------------------

template <class Hw>
void rc_ep<Hw>::owe_grant() noexcept
{
    owes_grant_ = true;
    send_grant();
    if (owes_grant_ && !linked()) {
        this->iface().add_unsettled(*this);
    }
}

template <class Hw>
void rc_ep<Hw>::send_grant() noexcept
{
    if (this->is_failed() || !connected_) {
        owes_grant_ = false;
        return;
    }
    if (!sends_.has_room_for_own() || !this->iface().has_cq_room(2)) {
        make_room();
        return;
    }
    owes_grant_ = false;
    const am_header head{.id = am_header::grant_id, .wants_grant = 0, .spare = {}};
    const ibv_sge piece = own_piece(reinterpret_cast<const std::byte *>(&head), sizeof(head));
    post_own({.op = send_op::send, .copied = true, .pieces = {&piece, 1}}, 1);
}

// ---- The end ---------------------------------------------------------------------------------

// From here on the device flushes: a last request, whose completion comes after all others, says
// when it uses none of our buffers any more.
template <class Hw>
void rc_ep<Hw>::quiesce() noexcept
{
    owes_grant_ = false;
    for (uint64_t i = 0; i <= run_mask_; i++) {
        runs_[i].first = signaled_run::never; // the records stay for whoever judges them
    }
    run_first_ = signaled_run::never;
    if (!qp_.exists()) {
        return;
    }
    silence_.start(ucs::now_ns());
    const bool broken = qp_.break_it() == UFX_OK;
    if (!connected_) {
        send_quiet_ = receives_ended_ = receive_quiet_ = true;
        return;
    }
    if (!broken) {
        silence_limit_ns_ = dead_limit_ns;
    } else if (has_tail()) {
        post_own({.op = send_op::nop, .signaled = true}, 0);
    }
    if (!linked()) {
        this->iface().add_unsettled(*this);
    }
}

template <class Hw>
uint64_t rc_ep<Hw>::next_look_ns() const noexcept
{
    if (!this->is_failed()) {
        return receives_ended_ ? 0 : UINT64_MAX; // room for a grant comes with a completion
    }
    return silence_.next_look_ns(silence_limit_ns_);
}

template <class Hw>
void rc_ep<Hw>::reached_last_receive(uint32_t receives_end) noexcept
{
    receives_ended_ = true;
    receives_end_ = receives_end;
    silence_.start(ucs::now_ns());
    if (!linked()) {
        this->iface().add_unsettled(*this);
    }
}

template <class Hw>
bool rc_ep<Hw>::settle(uint32_t receives_handled, bool queues_empty) noexcept
{
    if (owes_grant_) {
        send_grant();
    }
    if (!this->is_failed() && receives_ended_ && queues_empty) {
        broke({UFX_ERR_CONNECTION_RESET, UFX_UCT_CAUSE_OWN_QP}, 0,
              "the queue pair is in an error that no completion told of");
    }
    if (!this->is_failed()) {
        return owes_grant_ || receives_ended_;
    }
    if (!send_quiet_ && sends_.under_way() == 0) {
        become_send_quiet();
    }
    receive_quiet_ = receive_quiet_ || (receives_ended_ && has_passed(receives_handled));
    if (!(send_quiet_ && receive_quiet_)) {
        if (!queues_empty) {
            silence_.skip(ucs::now_ns());
            return true;
        }
        if (silence_.look(ucs::now_ns()) < silence_limit_ns_) {
            return true;
        }
        give_up_waiting();
    }
    finish_quiet();
    return false;
}

// All that had been received before the end was handled. Positions wrap.
template <class Hw>
bool rc_ep<Hw>::has_passed(uint32_t receives_handled) const noexcept
{
    return static_cast<int32_t>(receives_handled - receives_end_) >= 0;
}

template <class Hw>
void rc_ep<Hw>::become_send_quiet() noexcept
{
    send_quiet_ = true;
    this->finish_ending();
}

template <class Hw>
void rc_ep<Hw>::finish_quiet() noexcept
{
    const ufx_status_t status = gave_up_ && !last_psn_ ? UFX_ERR_IO : UFX_OK;
    for (ufx_uct_completion_t *waiter : std::exchange(waiters_, {})) {
        finish(waiter, status);
    }
}

// No completion comes any more: the device is dead, or lost an event. Without the queue pair
// nothing can be written or read. A device that flushed the requests but does not tell that
// receiving has ended, as soft-RoCE, still tells how far it got, and that it will not go on.
template <class Hw>
void rc_ep<Hw>::give_up_waiting() noexcept
{
    if (const auto last = send_quiet_ ? qp_.final_psn() : UFX_ERR_IO; last) {
        last_psn_ = *last;
    } else {
        ufx_warn("%s:%u qp 0x%06x did not become quiet and is destroyed",
                 this->iface().domain().dev().name().c_str(), this->iface().port().number(), qpn_);
    }
    gave_up_ = true;
    destroy_qp();
    receives_ended_ = receive_quiet_ = true;
    if (!send_quiet_) {
        become_send_quiet();
    }
}

template <class Hw>
void rc_ep<Hw>::destroy_qp() noexcept
{
    if (!qp_.exists()) {
        return;
    }
    this->iface().forget(qpn_); // where the library would lose what was received
    if (!qp_.destroy()) {
        return;
    }
    this->iface().forget(qpn_); // what came since
    release(sends_.posted());
    end_tail(); // needs no completion any more
}

template <class Hw>
ufx_status_t rc_ep<Hw>::make_quiet(ufx_uct_completion_t *quiet)
{
    if (send_quiet_ && receive_quiet_) {
        return gave_up_ && !last_psn_ ? UFX_ERR_IO : UFX_OK;
    }
    if (quiet != nullptr) {
        waiters_.push_back(quiet);
    }
    return UFX_INPROGRESS;
}

// ---- Tokens ----------------------------------------------------------------------------------

template <class Hw>
ufx_uct_token_grade_t rc_ep<Hw>::expected_psn(uint32_t &psn) const noexcept
{
    if (gave_up_) {
        psn = last_psn_.value_or(0);
        return qp_.exists() ? UFX_UCT_GRADE_OPEN
               : last_psn_  ? UFX_UCT_GRADE_EXACT
                            : UFX_UCT_GRADE_BLIND;
    }
    const ucs::result<uint32_t> found = qp_.expected_psn();
    psn = found.value_or(0);
    if (found) {
        return UFX_UCT_GRADE_EXACT;
    }
    return send_quiet_ && receive_quiet_ ? UFX_UCT_GRADE_BLIND : UFX_UCT_GRADE_OPEN;
}

template <class Hw>
ucs::result<rc_position> rc_ep<Hw>::parse_token(const void *token, size_t length) const noexcept
{
    const uint64_t value = length == token_len ? ucs::load_le64(token) : UINT64_MAX;
    if (value > psn_mask) {
        return UFX_ERR_BAD_MESSAGE;
    }
    const rc_position position{static_cast<uint32_t>(value)};
    // It lies between what has completed and what was posted.
    if (psn_distance(position.expected_psn, psn_ & psn_mask) < 0) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return position;
}

// Of what the record stands for, there or back.
inline uint64_t wire_length(const op_record &record) noexcept
{
    return record.length +
           (record.kind == UFX_UCT_OP_AM ? sizeof(am_header) + record.header_length : 0);
}

template <class Hw>
extent rc_ep<Hw>::judge(const op_record &record, uint64_t, const rc_position &position,
                        size_t &partial) const noexcept
{
    const auto first = static_cast<uint32_t>(record.transport[1] & psn_mask);
    const uint32_t packets = packets_of(wire_length(record), mtu_shift_);
    return extent_of(first, packets, position.expected_psn, mtu_shift_, partial);
}

} // namespace ufx::uct::ib

#endif
