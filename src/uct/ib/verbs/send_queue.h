// SPDX-License-Identifier: BSD-3-Clause
// A send queue that is posted by ibv_post_send().
#ifndef UFX_UCT_IB_VERBS_SEND_QUEUE_H
#define UFX_UCT_IB_VERBS_SEND_QUEUE_H

#include "uct/ib/common/config.h"
#include "uct/ib/common/send_request.h"

#include "ucs/result.h"

namespace ufx::uct::ib::verbs {

// Positions count requests since the queue was made; a request's wr_id is the position behind it.
class send_queue {
public:
    static constexpr uint32_t max_blocks = 1;
    static constexpr uint32_t reserved_blocks = 4; // for requests that the transport makes itself
    static constexpr size_t max_pieces = 8;
    static constexpr size_t max_copied = 128;
    static constexpr uint32_t nop_packets = 1; // a write of nothing

    using completion_id = uint64_t;

    [[nodiscard]] static ibv_qp *make_qp(ibv_context *context, ibv_qp_init_attr_ex &init) noexcept
    {
        return ibv_create_qp_ex(context, &init);
    }

    [[nodiscard]] static ucs::result<send_queue> take(ibv_qp *qp, const rc_config &config) noexcept;

    [[nodiscard]] bool has_room() const noexcept
    {
        return requests_ - under_way() >= max_blocks + reserved_blocks;
    }

    [[nodiscard]] bool has_room_for_own() const noexcept { return requests_ - under_way() >= 1; }

    // One stays for the last request of all.
    [[nodiscard]] bool has_room_for_grant() const noexcept { return requests_ - under_way() >= 2; }

    // A post was refused; it will have no completion.
    [[nodiscard]] bool is_broken() const noexcept { return broken_; }

    [[nodiscard]] uint64_t posted() const noexcept { return posted_; }

    [[nodiscard]] uint32_t under_way() const noexcept
    {
        return static_cast<uint32_t>(posted_ - done_);
    }

    // There is room. Gives the position behind the request.
    uint64_t post(const send_request &request) noexcept;

    [[nodiscard]] uint64_t position_after(completion_id wr_id) const noexcept
    {
        return wr_id > done_ && wr_id <= posted_ ? wr_id : done_;
    }

    // Position of that request.
    [[nodiscard]] uint64_t position_before(completion_id wr_id) const noexcept
    {
        return position_after(wr_id) == done_ ? done_ : wr_id - 1;
    }

    // All before `position` is over; gives the requests that it freed.
    uint32_t release(uint64_t position) noexcept
    {
        const auto freed = static_cast<uint32_t>(position - done_);
        done_ = position;
        return freed;
    }

private:
    send_queue(ibv_qp *qp, uint32_t requests) noexcept : qp_(qp), requests_(requests) {}

    ibv_qp *qp_;
    uint32_t requests_;
    uint64_t posted_ = 0;
    uint64_t done_ = 0;
    bool broken_ = false;
};

} // namespace ufx::uct::ib::verbs

#endif
