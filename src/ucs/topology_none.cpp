// SPDX-License-Identifier: BSD-3-Clause
// Without hwloc or libnuma nothing is known of nodes.
#include "topology.h"

namespace ufx::ucs {

struct topology::impl {};

topology::topology(owner<impl> inside) noexcept : impl_(std::move(inside)) {}

topology::~topology() = default;

result<owner<topology>> topology::of_text(const char *)
{
    return UFX_ERR_UNSUPPORTED;
}

const topology *topology::of_machine() noexcept
{
    return nullptr;
}

int topology::node_of(const std::string &) const
{
    return -1;
}

size_t topology::nearest(int, std::span<const int>) const noexcept
{
    return 0;
}

int current_node() noexcept
{
    return -1;
}

bool prefer_node(void *, size_t, int node) noexcept
{
    return node < 0;
}

} // namespace ufx::ucs
