// SPDX-License-Identifier: BSD-3-Clause
// What is under way while a rail fails, one kind a class, each with a model of what must come of it.
#ifndef UFX_TEST_MATRIX_OPERATIONS_H
#define UFX_TEST_MATRIX_OPERATIONS_H

#include "world.h"

#include <deque>
#include <memory>
#include <span>
#include <string>

namespace ufx::matrix {

class operation {
public:
    virtual ~operation() = default;
    operation(const operation &) = delete;
    operation &operator=(const operation &) = delete;

    virtual void start() = 0;
    // All is complete at the sender, and has come at the receiver.
    virtual bool is_done();
    // Changes what the user may change once it is done: nothing of it may show.
    virtual void reuse_buffers() = 0;
    // Empty if all is as the model says; at the end, when every rail is whole again.
    virtual std::string what_is_wrong() const;
    // The endpoint is gone: there must be another one.
    virtual bool closes_endpoint() const { return false; }

protected:
    operation(world &where, unsigned seed) : world_(where), seed_(seed) {}
    waiter &next() { return waiters_.emplace_back(); }

    world &world_;
    unsigned seed_;
    std::deque<waiter> waiters_;
};

struct kind {
    const char *name;
    std::unique_ptr<operation> (*make)(world &where, unsigned seed);
};
[[nodiscard]] std::span<const kind> kinds();

} // namespace ufx::matrix

#endif
