// SPDX-License-Identifier: BSD-3-Clause
// Whether there are routes from a RoCE port to its peers; the kernel is asked again after a second.
#ifndef UFX_UCT_IB_COMMON_KNOWN_ROUTES_H
#define UFX_UCT_IB_COMMON_KNOWN_ROUTES_H

#include "gid.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace ufx::uct::ib {

class known_routes {
public:
    using gid = std::array<std::byte, 16>;

    // True also where the kernel has no say: a GID without a network interface, one on the loopback
    // (a device in software), and link-local peers, which are neighbours. Throws bad_alloc.
    [[nodiscard]] bool has(const gid_entry &from, const gid &to);

private:
    struct answer {
        bool is_there;
        uint64_t until_ns;
    };

    std::map<std::pair<gid, gid>, answer> answers_; // by both ends
};

} // namespace ufx::uct::ib

#endif
