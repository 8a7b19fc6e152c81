// SPDX-License-Identifier: BSD-3-Clause
// Requests that wait for resources: in order per ep, fair among the eps of an iface.
#ifndef UFX_UCT_BASE_PENDING_H
#define UFX_UCT_BASE_PENDING_H

#include <ufx/uct_types.h>

#include <cstdint>

namespace ufx::uct {

class pending_arbiter;

// The queue of one ep. Its requests are linked through priv[0]; it is itself linked into the
// arbiter's ring while it is not empty.
class pending_group {
public:
    explicit pending_group(void *owner) noexcept : owner_(owner) {}
    pending_group(const pending_group &) = delete;
    pending_group &operator=(const pending_group &) = delete;

    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }

    [[nodiscard]] uint64_t size() const noexcept { return size_; }

    // The ep.
    [[nodiscard]] void *owner() const noexcept { return owner_; }

private:
    friend class pending_arbiter;

    void *owner_;
    ufx_uct_pending_req_t *head_ = nullptr;
    ufx_uct_pending_req_t *tail_ = nullptr;
    uint64_t size_ = 0;
    pending_group *prev_ = nullptr; // ring of the arbiter
    pending_group *next_ = nullptr;
    uint64_t pass_ = 0; // last dispatch in which this group could not go on
};

// How a request's turn ended: it left (it may be freed by now), it stays at the head of its group,
// or its ep is gone with all its requests.
enum class pending_turn { finished, stays, gone };

// Round robin over the groups that have requests.
class pending_arbiter {
public:
    [[nodiscard]] bool empty() const noexcept { return turn_ == nullptr; }

    // Requests in all groups.
    [[nodiscard]] uint64_t size() const noexcept { return size_; }

    void add(pending_group &group, ufx_uct_pending_req_t *req) noexcept;

    // Takes the oldest request out of a group that is not empty.
    ufx_uct_pending_req_t *take(pending_group &group) noexcept;

    // Drops all requests of a group.
    void clear(pending_group &group) noexcept;

    // Gives each request that is queued now at most one turn, one request a group and round. A
    // group whose head stays gets no further turn in this call (L05, L07). `turn(group, req)` runs
    // the request, which is out of the queue meanwhile. Returns how many requests finished.
    template <class Turn>
    unsigned dispatch(Turn &&turn) noexcept
    {
        unsigned finished = 0;
        const uint64_t pass = ++pass_;
        for (uint64_t budget = size_; budget > 0 && turn_ != nullptr; --budget) {
            pending_group &group = *turn_;
            if (group.pass_ == pass) {
                break; // the others were asked before this one
            }
            ufx_uct_pending_req_t *req = take(group);
            switch (turn(group, req)) {
            case pending_turn::finished:
                ++finished;
                break;
            case pending_turn::stays:
                put_back(group, req);
                group.pass_ = pass;
                break;
            case pending_turn::gone:
                break;
            }
        }
        return finished;
    }

private:
    void link(pending_group &group) noexcept;
    void unlink(pending_group &group) noexcept;
    void put_back(pending_group &group, ufx_uct_pending_req_t *req) noexcept;

    pending_group *turn_ = nullptr; // ring of groups that are not empty; whose turn it is
    uint64_t size_ = 0;
    uint64_t pass_ = 0;
};

} // namespace ufx::uct

#endif
