// SPDX-License-Identifier: BSD-3-Clause
// One uct operation on one lane: what a uct completion belongs to.
//
// PUT and GET: made when it is first posted, lives until it is final; while it is posted, uct's own
// record is its journal; when its lane is purged it gets a handle, by which the core names it while
// it is frozen. AM: made for a zero-copy post, lives until uct has let go of the payload (the
// core's ledger has the rest).
#ifndef UFX_UCP_FRAGMENT_H
#define UFX_UCP_FRAGMENT_H

#include "ucp/core/action.h"
#include "ucp/transfer.h"
#include "ucs/handle_table.h"
#include "ucs/list.h"

#include <ufx/uct.h>

namespace ufx::ucp {

class ep;
class lane;
class request;

class fragment : public ucs::list_node<> {
public:
    // The address of this member is what uct knows.
    struct completion : ufx_uct_completion_t {
        fragment *self = nullptr;
    };

    explicit fragment(request &of_op) : op(&of_op)
    {
        comp.func = &fragment::on_complete;
        comp.self = this;
    }
    fragment(ep &target, request &of_op, core::op_kind what) : fragment(of_op)
    {
        begin(target, what);
    }
    void begin(ep &target, core::op_kind what)
    {
        owner = &target;
        kind = what;
        where = {};
        from = 0;
        replays = 0;
    }

    // The fragment whose completion that is, or nullptr if it is somebody else's.
    static fragment *of(ufx_uct_completion_t *comp);
    static void on_complete(ufx_uct_completion_t *comp) noexcept;

    completion comp{};
    ep *owner = nullptr; // nullptr: it is not in use
    request *op;
    core::op_kind kind{};
    ucs::handle id = 0;   // 0: it has no name
    core::lane_ref where; // epoch 0 = not posted
    // PUT, GET.
    transfer part;
    std::size_t from = 0; // first byte of this posting
    std::uint8_t replays = 0;
    // AM.
    core::am_number number = 0;
};

} // namespace ufx::ucp

#endif
