// SPDX-License-Identifier: BSD-3-Clause
// Making an image whole again whose holder of the lock was killed, at whatever step.
#ifndef UFX_SWHCA_FABRIC_REPAIR_H
#define UFX_SWHCA_FABRIC_REPAIR_H

#include "image.h"

#include <atomic>

namespace ufx::swhca {

// What is written before is there when what is written after is, also if the process is killed
// between: the processor keeps the order, the compiler must too.
inline void in_this_order() noexcept
{
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

// While it lives, the QP is among those that are torn if the process is killed.
class works_on {
public:
    works_on(image &shared, uint32_t qp_index) noexcept
        : shared_(shared), pushed_(shared.working_depth < max_nesting)
    {
        if (pushed_) {
            shared_.working[shared_.working_depth] = qp_index;
            in_this_order();
            shared_.working_depth++;
            in_this_order();
        }
    }

    ~works_on()
    {
        if (pushed_) {
            in_this_order();
            shared_.working_depth--;
        }
    }

    works_on(const works_on &) = delete;
    works_on &operator=(const works_on &) = delete;

private:
    image &shared_;
    bool pushed_;
};

// For the next holder of the lock. Lists, names and counts are made anew from what says of itself
// whether it is in use; the QPs that were worked on become `torn`, for an engine to mend. May be
// killed too, and done again.
void repair_image(image &shared) noexcept;

} // namespace ufx::swhca

#endif
