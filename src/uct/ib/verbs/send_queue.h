// SPDX-License-Identifier: BSD-3-Clause
// A send queue that is posted by ibv_post_send().
#ifndef UFX_UCT_IB_VERBS_SEND_QUEUE_H
#define UFX_UCT_IB_VERBS_SEND_QUEUE_H

#include "uct/ib/common/config.h"
#include "uct/ib/common/rc_resources.h"
#include "uct/ib/common/send_credits.h"
#include "uct/ib/common/send_request.h"

#include "ucs/result.h"

namespace ufx::uct::ib::verbs {

// Positions count requests; a request's wr_id is the position behind it.
class send_queue : public send_credits {
public:
    static constexpr uint32_t max_blocks = 1;
    static constexpr size_t max_pieces = 8;
    static constexpr size_t max_copied = 128;
    static constexpr size_t max_short = 0;     // nothing goes without a list of pieces
    static constexpr uint32_t nop_packets = 1; // a write of nothing

    using completion_id = uint64_t;

    [[nodiscard]] static ibv_qp *make_qp(ibv_context *context, ibv_qp_init_attr_ex &init) noexcept
    {
        return ibv_create_qp_ex(context, &init);
    }

    [[nodiscard]] static ucs::result<send_queue> take(ibv_qp *qp, const rc_config &config,
                                                      const rc_resources &resources) noexcept;

    // A post was refused; it will have no completion.
    [[nodiscard]] bool is_broken() const noexcept { return broken_; }

    // There is room. Gives the position behind the request.
    uint64_t post(const send_request &request) noexcept;

    [[nodiscard]] uint64_t position_after(completion_id wr_id) const noexcept
    {
        return wr_id > done() && wr_id <= posted() ? wr_id : done();
    }

    // Where the completion with this wr_id is in what is kept by first position.
    [[nodiscard]] static uint64_t key_of(completion_id wr_id) noexcept { return wr_id - 1; }

    // Position of that request.
    [[nodiscard]] uint64_t position_before(completion_id wr_id) const noexcept
    {
        return position_after(wr_id) == done() ? done() : wr_id - 1;
    }

private:
    send_queue(ibv_qp *qp, uint32_t requests) noexcept : send_credits(requests, max_blocks), qp_(qp)
    {
    }

    ibv_qp *qp_;
    bool broken_ = false;
};

} // namespace ufx::uct::ib::verbs

#endif
