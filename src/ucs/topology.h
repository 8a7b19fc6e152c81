// SPDX-License-Identifier: BSD-3-Clause
// Which memory and which devices are near to each other in a machine with several NUMA nodes.
#ifndef UFX_UCS_TOPOLOGY_H
#define UFX_UCS_TOPOLOGY_H

#include "owner.h"
#include "result.h"

#include <cstddef>
#include <span>
#include <string>

namespace ufx::ucs {

// Nodes have the kernel's numbers; -1 is one that is not known.
class topology {
public:
    // hwloc's description of a machine, such as "package:2 node:2 core:4 pu:1". UNSUPPORTED in a
    // build without hwloc or libnuma.
    [[nodiscard]] static result<owner<topology>> of_text(const char *description);

    // The machine that this is, read once; nullptr if it has one node, or cannot be read.
    [[nodiscard]] static const topology *of_machine() noexcept;

    ~topology();

    topology(const topology &) = delete;
    topology &operator=(const topology &) = delete;

    // The one node that these processors have ("0-3,8"); -1: they have several, or none.
    [[nodiscard]] int node_of(const std::string &processors) const;

    // Which of the devices, by their nodes, is nearest to that node; the first of those that are
    // equally near. There is at least one.
    [[nodiscard]] size_t nearest(int node, std::span<const int> devices) const noexcept;

private:
    friend struct owner_access;
    struct impl;

    explicit topology(owner<impl> inside) noexcept;

    owner<impl> impl_;
};

// Of the processor that runs the caller now.
[[nodiscard]] int current_node() noexcept;

// Pages of that memory which are touched from now on lie on that node as long as it has room. Does
// nothing if the node is -1; false: the system refused.
bool prefer_node(void *address, size_t length, int node) noexcept;

} // namespace ufx::ucs

#endif
