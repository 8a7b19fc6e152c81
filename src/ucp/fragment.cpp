// SPDX-License-Identifier: BSD-3-Clause
// From a uct completion back to its fragment.
#include "ucp/fragment.h"

#include "ucp/ep.h"

namespace ufx::ucp {

fragment *fragment::of(ufx_uct_completion_t *comp)
{
    return comp != nullptr && comp->func == &fragment::on_complete
               ? static_cast<completion *>(comp)->self
               : nullptr;
}

void fragment::on_complete(ufx_uct_completion_t *comp) noexcept
{
    fragment &f = *static_cast<completion *>(comp)->self;
    ep &owner = *f.owner;
    owner.or_fail([&] { owner.tx.completed(f, comp->status); });
}

} // namespace ufx::ucp
