// SPDX-License-Identifier: BSD-3-Clause
// The life of one op: claimed once, at its first terminal event; completed with its last fragment.
#ifndef UFX_UCP_CORE_OP_STATE_H
#define UFX_UCP_CORE_OP_STATE_H

#include "ucp/core/types.h"

#include <ufx/status.h>

namespace ufx::ucp::core {

// Embedded in ucp's request. States: RUNNING -> CLAIMED(status) -> complete when no fragment is
// left. A success is claimed only by the last fragment, so a later error CQE cannot undo it (row
// M12).
class op_state {
public:
    // `fragments` that must become final. More may be added while the op is not complete.
    explicit op_state(std::uint32_t fragments = 0) : left_(fragments) {}

    void add(std::uint32_t fragments) { left_ += fragments; }

    // The first terminal event wins; true if this was it. Fragments still have to become final.
    bool claim(ufx_status_t status, cause why = cause::NONE)
    {
        if (claimed_) {
            return false;
        }
        claimed_ = true;
        status_ = status;
        why_ = why;
        return true;
    }

    // One fragment is final. True if the op is complete now: exactly one call per op returns true.
    bool fragment_final(ufx_status_t status, cause why = cause::NONE, bool remote_final = true)
    {
        if (left_ == 0) {
            return false;
        }
        remote_final_ = remote_final_ && remote_final;
        if (status != UFX_OK) {
            claim(status, why);
        }
        if (--left_ != 0) {
            return false;
        }
        claim(UFX_OK);
        return true;
    }

    bool is_claimed() const { return claimed_; }
    bool is_complete() const { return left_ == 0 && claimed_; }
    std::uint32_t fragments_left() const { return left_; }
    ufx_status_t status() const { return status_; }
    cause why() const { return why_; }
    bool remote_final() const { return remote_final_; }

private:
    std::uint32_t left_;
    ufx_status_t status_ = UFX_OK;
    cause why_ = cause::NONE;
    bool claimed_ = false;
    bool remote_final_ = true;
};

} // namespace ufx::ucp::core

#endif
