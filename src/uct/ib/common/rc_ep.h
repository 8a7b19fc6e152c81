// SPDX-License-Identifier: BSD-3-Clause
// An ep of an RC transport: one queue pair. Posts become requests in its send queue, with a record
// each; completions end records in posting order.
#ifndef UFX_UCT_IB_COMMON_RC_EP_H
#define UFX_UCT_IB_COMMON_RC_EP_H

#include "am_header.h"
#include "atomic_request.h"
#include "md.h"
#include "psn.h"
#include "rc_qp.h"
#include "send_request.h"
#include "silence.h"

#include "ucs/clock.h"
#include "ucs/list.h"
#include "uct/base/failover_ep.h"

#include <memory>
#include <optional>
#include <vector>

namespace ufx::uct::ib {

template <class Hw>
class rc_iface;

// How long a broken queue pair may be silent, while its completions are waited for, before it is
// destroyed: in general, if the device itself said that it broke, and if no completion can come.
inline constexpr uint64_t quiet_limit_ns = ucs::ns_per_sec;
inline constexpr uint64_t fatal_limit_ns = 20'000'000;
inline constexpr uint64_t dead_limit_ns = 0;

// The packet that the peer's responder expects next.
struct rc_position {
    uint32_t expected_psn;
};

// How a request of one block is posted: a plain one needs no thought about room, nor about who gets
// a completion.
enum class pace { plain, by_turn };

template <class Hw>
class rc_ep : public failover_ep<rc_ep<Hw>, rc_iface<Hw>>, public ucs::list_node<> {
    using base = failover_ep<rc_ep<Hw>, rc_iface<Hw>>;
    using iface_type = rc_iface<Hw>;
    using send_queue = typename Hw::send_queue;

public:
    method_of<&ep_ops::am_short> am_short;
    method_of<&ep_ops::am_bcopy> am_bcopy;
    method_of<&ep_ops::am_zcopy> am_zcopy;
    method_of<&ep_ops::put_short> put_short;
    method_of<&ep_ops::put_bcopy> put_bcopy;
    method_of<&ep_ops::put_zcopy> put_zcopy;
    method_of<&ep_ops::get_short> get_short;
    method_of<&ep_ops::get_bcopy> get_bcopy;
    method_of<&ep_ops::get_zcopy> get_zcopy;
    method_of<&ep_ops::atomic32_post> atomic32_post;
    method_of<&ep_ops::atomic32_fetch> atomic32_fetch;
    method_of<&ep_ops::atomic32_cswap> atomic32_cswap;
    method_of<&ep_ops::atomic64_post> atomic64_post;
    method_of<&ep_ops::atomic64_fetch> atomic64_fetch;
    method_of<&ep_ops::atomic64_cswap> atomic64_cswap;
    method_of<&ep_ops::fence> fence;
    method_of<&ep_ops::check> check;
    method_of<&ep_ops::get_address> get_address;
    ufx_status_t connect_to_ep(const void *device_addr, const void *iface_addr,
                               const void *ep_addr);
    method_of<&ep_ops::query> query;
    ufx_status_t flush(unsigned flags, ufx_uct_completion_t *comp);
    void destroy() noexcept;

    // Throws bad_alloc; IO and others if the device refuses.
    [[nodiscard]] static ucs::result<ucs::owner<rc_ep>> create(iface_type &iface,
                                                               const ufx_uct_ep_params_t &params);
    ~rc_ep();

    // ---- Of ep_base and failover_ep ----------------------------------------------------------
    void quiesce() noexcept;

    // What was refused last would be accepted now. It may wait for credit, which only messages
    // need.
    [[nodiscard]] bool can_post() noexcept
    {
        if (!has_room()) {
            make_room();
            return false;
        }
        return !waits_for_credit_ || flow_.may_send();
    }

    [[nodiscard]] bool is_locally_quiet() const noexcept { return send_quiet_; }

    // Throws bad_alloc.
    [[nodiscard]] ufx_status_t make_quiet(ufx_uct_completion_t *quiet);
    [[nodiscard]] ucs::result<rc_position> parse_token(const void *token,
                                                       size_t length) const noexcept;
    [[nodiscard]] extent judge(const op_record &record, uint64_t index, const rc_position &position,
                               size_t &partial) const noexcept;

    // ---- For the iface -----------------------------------------------------------------------
    // All requests up to the completion's have ended well.
    void sent(typename send_queue::completion_id id) noexcept;
    void send_failed(typename send_queue::completion_id id, const send_error &error) noexcept;

    // The queue pair broke in a way that no completion tells. The shortest limit holds, also if it
    // had failed before.
    void broke(const failure &what, int code, const char *text,
               uint64_t limit_ns = quiet_limit_ns) noexcept;

    // LAST_WQE_REACHED: what arrived is in the completion queue, before `receives_end`.
    void reached_last_receive(uint32_t receives_end) noexcept;

    // A turn while it is unsettled; false: nothing is left to do. `queues_empty`: no completion is
    // left.
    [[nodiscard]] bool settle(uint32_t receives_handled, bool queues_empty) noexcept;

    // Of an unsettled ep: when settle() has to look, though nothing comes; 0: now.
    [[nodiscard]] uint64_t next_look_ns() const noexcept;

    void owe_grant() noexcept;
    // The peer granted; false: it was not asked.
    [[nodiscard]] bool take_grant() noexcept { return flow_.grant(); }

    // An unsignaled tail gets a completion.
    void signal_tail() noexcept;

    [[nodiscard]] uint64_t peer_tag() const noexcept { return peer_tag_; }

    [[nodiscard]] bool is_connected() const noexcept { return connected_; }

    // BLIND: nothing lands any more, but how far it got is not known. OPEN: it may go on.
    [[nodiscard]] ufx_uct_token_grade_t expected_psn(uint32_t &psn) const noexcept;

    [[nodiscard]] uint32_t qpn() const noexcept { return qpn_; }

private:
    friend struct ucs::owner_access;

    rc_ep(iface_type &iface, const ufx_uct_ep_params_t &params, rc_qp &&qp, send_queue &&queue);

    [[nodiscard]] ufx_status_t register_records() noexcept;

    [[nodiscard]] bool has_room() const noexcept;
    [[nodiscard]] bool can_send() const noexcept { return has_room() && flow_.may_send(); }

    // When it is over, something is in the record that somebody waits for.
    [[nodiscard]] static bool has_answer(const op_record &record) noexcept
    {
        return record.kind == UFX_UCT_OP_ATOMIC_FETCH ||
               (record.kind == UFX_UCT_OP_GET && record.form != UFX_UCT_FORM_ZCOPY);
    }

    [[nodiscard]] bool has_psn_room(uint32_t packets) const noexcept;

    // Those that lie in one block of the send queue: rc_ep_short_impl.h.
    template <pace how>
    void put_quickly(ufx_uct_op_form_t form, const void *buffer, size_t length,
                     uint64_t remote_addr, ufx_uct_rkey_t rkey) noexcept;
    template <pace how, size_t head_size, class Copy>
    void am_quickly(ufx_uct_op_form_t form, uint8_t id, size_t length, Copy &&copy) noexcept;
    template <pace how>
    void am_bcopy_quickly(uint8_t id, const std::byte *packed, size_t length) noexcept;
    template <pace how>
    void am_short_quickly(uint8_t id, uint64_t header, const void *payload, size_t length) noexcept;
    template <pace how, send_op op>
    void rma_quickly(const ufx_uct_iov_t &piece, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                     ufx_uct_completion_t *comp) noexcept;
    // The next request may be a plain one; without, and with a completion of its own.
    [[nodiscard]] bool is_plain() const noexcept { return plain_left_ != 1 && has_block_room(); }
    [[nodiscard]] bool is_plain_signaled() const noexcept
    {
        return special_ == 0 && has_block_room();
    }
    [[nodiscard]] bool has_block_room() const noexcept;
    // Before the record of a request of one block is made; there is room for both.
    template <pace how>
    void expect_block() noexcept
    {
        if (how != pace::plain && room_left_ == 0) {
            count_room();
        }
    }
    void take_block(iface_type &iface) noexcept;
    [[gnu::noinline]] void count_room() noexcept;
    // What rma_quickly() takes.
    [[nodiscard]] bool is_quick(const ufx_uct_iov_t *iov, size_t count) const noexcept
    {
        return count == 1 && iov->length - 1 < max_quick_ && iov->memh != nullptr;
    }

    template <send_op op>
    [[nodiscard]] bool post_long(op_record &record) noexcept;
    void atomic_quickly(op_record &record) noexcept;
    [[nodiscard]] static ufx_uct_completion_t *answer_of(op_record &record) noexcept;

    void note_request(op_record &record, uint64_t end, uint32_t more_packets) noexcept;
    template <pace how>
    [[nodiscard]] uint32_t flags_by_turn(uint64_t request, uint64_t end) noexcept;
    [[nodiscard]] uint32_t special_flags(uint64_t request, uint64_t end) noexcept;
    template <pace how>
    [[nodiscard]] ssize_t put_bcopy_at(ufx_uct_pack_cb_t pack, void *arg, uint64_t remote_addr,
                                       ufx_uct_rkey_t rkey) noexcept;
    template <pace how>
    [[nodiscard]] ssize_t am_bcopy_at(uint8_t id, ufx_uct_pack_cb_t pack, void *arg) noexcept;
    [[nodiscard]] ufx_status_t put_short_by_turn(const void *buffer, size_t length,
                                                 uint64_t remote_addr,
                                                 ufx_uct_rkey_t rkey) noexcept;
    [[nodiscard]] ufx_status_t am_short_by_turn(uint8_t id, uint64_t header, const void *payload,
                                                size_t length) noexcept;

    void post_am(op_record &record, bool copied, std::span<const ibv_sge> pieces) noexcept;
    void post_remote(op_record &record, send_op op, std::span<const ibv_sge> pieces) noexcept;
    void post_remote(op_record &record, send_op op, size_t length) noexcept;
    // Posts what the record stands for. `length` goes over the wire, there or back.
    void post(op_record &record, send_request request, uint64_t length) noexcept;
    // A request of the transport itself, without a record.
    void post_own(send_request request, uint32_t packets) noexcept;
    [[nodiscard]] bool signal_next(bool wanted) noexcept;
    [[nodiscard]] bool signal_by_turn() noexcept;
    void end_tail() noexcept;
    [[nodiscard]] bool take_fence() noexcept;

    // Bits of special_: there are requests behind the last signaled one; the next one waits for the
    // reads before it.
    static constexpr uint8_t tail_begun = 1;
    static constexpr uint8_t fence_asked = 2;
    [[nodiscard]] bool has_tail() const noexcept { return (special_ & tail_begun) != 0; }
    [[nodiscard]] bool fence_next() const noexcept { return (special_ & fence_asked) != 0; }
    void think_next() noexcept;
    void note_run(uint64_t request, uint64_t end, ufx_uct_completion_t *comp) noexcept;
    void make_room() noexcept;
    [[nodiscard]] ufx_status_t no_room() noexcept;
    [[nodiscard]] ufx_status_t no_room_for_am() noexcept;

    [[nodiscard]] am_header next_header(uint8_t id) noexcept;
    [[nodiscard]] ibv_sge prefixed_piece(op_record &record, size_t length) noexcept;
    [[nodiscard]] ibv_sge own_piece(const std::byte *at, size_t length) const noexcept;
    [[nodiscard]] bool gather(const ufx_uct_iov_t *iov, size_t count,
                              ibv_sge *pieces) const noexcept;
    template <send_op op>
    [[nodiscard]] ufx_status_t post_rma(const ufx_uct_iov_t *iov, size_t iov_count,
                                        uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                        ufx_uct_completion_t *comp) noexcept;
    [[nodiscard]] ufx_status_t post_atomic(ufx_uct_atomic_op_t op, unsigned size, uint64_t operand,
                                           uint64_t compare, void *result, uint64_t remote_addr,
                                           ufx_uct_rkey_t rkey,
                                           ufx_uct_completion_t *comp) noexcept;
    [[nodiscard]] ufx_status_t post_atomic_only(ufx_uct_atomic_op_t op, unsigned size,
                                                uint64_t operand, uint64_t remote_addr,
                                                ufx_uct_rkey_t rkey) noexcept;
    [[nodiscard]] ufx_status_t fetch_atomic(ufx_uct_atomic_op_t op, unsigned size, uint64_t operand,
                                            void *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                            ufx_uct_completion_t *comp) noexcept;
    void release(uint64_t position) noexcept;
    void sent_after_all(typename send_queue::completion_id id) noexcept;
    void end_until(uint64_t position) noexcept;
    void end_front() noexcept;
    void send_grant() noexcept;
    void become_send_quiet() noexcept;
    void finish_quiet() noexcept;
    void give_up_waiting() noexcept;
    [[nodiscard]] bool has_passed(uint32_t receives_handled) const noexcept;
    void destroy_qp() noexcept;

    rc_qp qp_;
    send_queue sends_;
    mr_owner records_mr_; // of what records point to
    flow_control flow_;
    uint32_t qpn_;
    uint32_t start_psn_;
    uint32_t psn_;             // of the next packet; the upper bits count laps
    uint32_t plain_left_ = 1;  // see signal_next()
    uint32_t after_fence_ = 0; // plain_left_ as it was before fence() took it down, or 0
    uint32_t room_left_ = 0;   // requests of one block that may be posted before room is counted
    uint8_t special_ = 0;      // tail_begun, fence_asked
    uint8_t mtu_shift_ = 0;
    bool connected_ = false;
    bool waits_for_credit_ = false; // the last post that was refused
    bool send_quiet_ = false;     // the device uses no buffer of ours
    bool receives_ended_ = false; // nothing arrives any more
    bool receive_quiet_ = false;  // and all that did was handled
    bool gave_up_ = false;        // the queue pair had to go before it was quiet
    std::optional<uint32_t> last_psn_; // what it expected next when it went, if that is known
    bool owes_grant_ = false;
    uint64_t tag_;
    uint64_t peer_tag_ = 0;
    port_address peer_port_{};
    uint32_t peer_qpn_ = 0;
    uint64_t flush_addr_ = 0; // at the peer
    uint32_t flush_rkey_ = 0;
    uint32_t receives_end_ = 0; // of receives_ended_
    uint64_t silence_limit_ns_ = quiet_limit_ns;
    silence silence_;                             // since it failed
    std::vector<ufx_uct_completion_t *> waiters_; // of invalidate

    // What ends with the completion of one signaled request, kept by the request's position: the
    // records from `first` to `end`, of which only the last one may have a completion, `comp`.
    // Over if `first` is not the oldest record. It is never if there is none, or if they have to be
    // looked at one by one.
    struct signaled_run {
        static constexpr uint64_t never = UINT64_MAX;

        uint64_t first = never;
        uint64_t end;
        uint64_t position; // behind the request
        ufx_uct_completion_t *comp;
    };
    uint64_t run_first_ = 0; // first record behind the last signaled request
    uint64_t run_mask_;
    std::unique_ptr<signaled_run[]> runs_;
    signaled_run *last_run_; // the newest
    uint64_t max_quick_ = 0; // length of the longest put or get that rma_quickly() takes
};

} // namespace ufx::uct::ib

#endif
