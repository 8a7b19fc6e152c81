// SPDX-License-Identifier: BSD-3-Clause
// The requests and fragments of a worker, and the queue of callbacks that are due.
#ifndef UFX_UCP_REQUEST_POOL_H
#define UFX_UCP_REQUEST_POOL_H

#include "ucp/fragment.h"
#include "ucp/request.h"
#include "ucs/pool.h"

#include <memory>
#include <utility>

namespace ufx::ucp {

class request_pool {
public:
    request_pool() : requests_("ucp requests"), fragments_("ucp fragments") {}
    // What is left goes without callbacks; fragments have gone with their eps.
    ~request_pool();
    request_pool(const request_pool &) = delete;
    request_pool &operator=(const request_pool &) = delete;

    // A request that is not accepted yet: undone, unless it is released.
    struct undoer {
        void operator()(request *r) const;
    };
    using draft = std::unique_ptr<request, undoer>;

    // A request of one part for a posting call. `target` may be nullptr, `params` too. Throws
    // bad_alloc.
    [[nodiscard]] draft start(worker &home, ep *target, const ufx_ucp_op_params_t *params, op kind);
    // The user does not hold it any more; it ends when its callback has run.
    void release(request &r);
    // Refused after start(): no callback.
    void undo(request &r) { recycle(r); }
    request *find(ucs::handle id) const { return table_.find(id); }
    void push_done(request &r) { done_.push_back(r); }

    // Throws bad_alloc.
    fragment &take_fragment(ep &target, request &r, core::op_kind kind)
    {
        // One of a message may live longer than its request.
        if (kind == core::op_kind::AM || r.first_part.owner != nullptr) {
            return make_fragment(target, r, kind);
        }
        r.first_part.begin(target, kind);
        return r.first_part;
    }
    void give_back(fragment &f)
    {
        if (f.id != 0) [[unlikely]] {
            fragment_table_.erase(std::exchange(f.id, 0));
        }
        if (&f == &f.op->first_part) {
            f.unlink();
            f.owner = nullptr;
        } else {
            fragments_.give_back(&f);
        }
    }
    // For the core, which names it by that. Throws bad_alloc, but not for `count` of them after
    // expect_names(count).
    ucs::handle name(fragment &f);
    void expect_names(std::size_t count)
    {
        fragment_table_.reserve(fragment_table_.size() + count);
    }
    fragment *find_fragment(ucs::handle id) const { return fragment_table_.find(id); }

    // Runs the callbacks that are due; those that become due meanwhile wait for the next call.
    // @return how many
    unsigned progress();
    bool empty() const { return done_.empty(); }

private:
    request &make(worker &home);
    fragment &make_fragment(ep &target, request &r, core::op_kind kind);
    void recycle(request &r);

    ucs::pool<request> requests_;
    ucs::pool<fragment> fragments_;
    ucs::handle_table<request> table_; // those in use, and free ones
    request_queue free_;
    ucs::handle_table<fragment> fragment_table_; // those that have a name
    request_queue done_;
};

} // namespace ufx::ucp

#endif
