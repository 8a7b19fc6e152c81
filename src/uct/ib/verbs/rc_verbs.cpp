// SPDX-License-Identifier: BSD-3-Clause
// rc_verbs: the RC transport on any device, through libibverbs.
#include "send_queue.h"
#include "shared_queues.h"

#include "uct/ib/common/rc_transport.h"

namespace ufx::uct::ib {

namespace {

struct verbs_hw {
    static constexpr rc_kind kind = rc_kind::verbs;
    static constexpr const char *name = "rc_verbs";

    static bool serves(const device &) noexcept { return true; }

    // libibverbs has no call for them.
    static bool has_extended_atomics(const device &, wish) noexcept { return false; }

    using send_queue = verbs::send_queue;
    using shared_queues = verbs::shared_queues;
};

} // namespace

constinit const transport rc_verbs = rc_transport<verbs_hw>();

} // namespace ufx::uct::ib
