// SPDX-License-Identifier: BSD-3-Clause
// The topology by hwloc, the policy of memory by libnuma.
#include "topology.h"

#include "entry.h"

#include <hwloc.h>
#include <numa.h>
#include <numaif.h>

#include <array>
#include <climits>
#include <sched.h>

namespace ufx::ucs {

namespace {

using bitmap_owner = c_owner<hwloc_bitmap_s, &::hwloc_bitmap_free>;
using machine_owner = c_owner<hwloc_topology, &::hwloc_topology_destroy>;

machine_owner read(const char *description)
{
    hwloc_topology_t raw = nullptr;
    if (::hwloc_topology_init(&raw) != 0) {
        return nullptr;
    }
    machine_owner made(raw);
    const bool taken =
        description == nullptr || ::hwloc_topology_set_synthetic(raw, description) == 0;
    return taken && ::hwloc_topology_load(raw) == 0 ? std::move(made) : nullptr;
}

bool has_several_nodes() noexcept
{
    return ::numa_available() >= 0 && ::numa_max_node() > 0;
}

} // namespace

struct topology::impl {
    machine_owner machine;
};

topology::topology(owner<impl> inside) noexcept : impl_(std::move(inside)) {}

topology::~topology() = default;

result<owner<topology>> topology::of_text(const char *description)
{
    machine_owner machine = read(description);
    if (machine == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return make_owner<topology>(std::unique_ptr<impl>(new impl{std::move(machine)}));
}

const topology *topology::of_machine() noexcept
{
    static const owner<topology> machine = [] {
        owner<topology> made;
        if (has_several_nodes()) {
            static_cast<void>(guard([&] {
                auto found = of_text(nullptr);
                made = found ? *std::move(found) : nullptr;
            }));
        }
        return made;
    }();
    return machine.get();
}

int topology::node_of(const std::string &processors) const
{
    const bitmap_owner wanted(::hwloc_bitmap_alloc());
    if (wanted == nullptr || ::hwloc_bitmap_list_sscanf(wanted.get(), processors.c_str()) != 0) {
        return -1;
    }
    int found = -1;
    hwloc_obj_t node = nullptr;
    while ((node = ::hwloc_get_next_obj_by_type(impl_->machine.get(), HWLOC_OBJ_NUMANODE, node)) !=
           nullptr) {
        if (::hwloc_bitmap_intersects(node->cpuset, wanted.get()) != 0) {
            if (found != -1) {
                return -1;
            }
            found = static_cast<int>(node->os_index);
        }
    }
    return found;
}

// The deeper what both are in, the nearer they are.
size_t topology::nearest(int node, std::span<const int> devices) const noexcept
{
    hwloc_topology_t machine = impl_->machine.get();
    const auto object = [machine](int number) {
        return number < 0
                   ? nullptr
                   : ::hwloc_get_numanode_obj_by_os_index(machine, static_cast<unsigned>(number));
    };
    const hwloc_obj_t from = object(node);
    size_t best = 0;
    int deepest = -1;
    for (size_t i = 0; from != nullptr && i < devices.size(); i++) {
        const hwloc_obj_t to = object(devices[i]);
        const int depth =
            to == nullptr ? -1
            : to == from
                ? INT_MAX
                : ::hwloc_get_common_ancestor_obj(machine, from->parent, to->parent)->depth;
        if (depth > deepest) {
            deepest = depth;
            best = i;
        }
    }
    return best;
}

int current_node() noexcept
{
    const int processor = ::sched_getcpu();
    return processor < 0 || ::numa_available() < 0 ? -1 : ::numa_node_of_cpu(processor);
}

bool prefer_node(void *address, size_t length, int node) noexcept
{
    constexpr size_t bits = sizeof(unsigned long) * CHAR_BIT;
    std::array<unsigned long, 1024 / bits> nodes{};
    if (node < 0) {
        return true;
    }
    const auto number = static_cast<size_t>(node);
    if (number >= nodes.size() * bits) {
        return false;
    }
    nodes[number / bits] = 1ul << number % bits;
    return ::mbind(address, length, MPOL_PREFERRED, nodes.data(), nodes.size() * bits, 0) == 0;
}

} // namespace ufx::ucs
