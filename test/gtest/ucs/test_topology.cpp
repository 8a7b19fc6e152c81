// SPDX-License-Identifier: BSD-3-Clause
// What is near to what, in machines that are only described.
#include "ucs/topology.h"

#include "common/skip.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

using namespace ufx;

namespace {

// Two packages of two nodes with two processors each: node 0 has 0-1, node 1 has 2-3, and so on.
ucs::owner<ucs::topology> four_nodes()
{
    auto made = ucs::topology::of_text("package:2 node:2 core:2 pu:1");
    if (!made) {
        test::skip("built without hwloc or libnuma");
        return nullptr;
    }
    return *std::move(made);
}

} // namespace

TEST_CASE("topology: a device's processors say on which node it is, if they are those of one")
{
    const auto machine = four_nodes();
    if (machine == nullptr) {
        return;
    }
    CHECK(machine->node_of("0-1") == 0);
    CHECK(machine->node_of("3") == 1);
    CHECK(machine->node_of("4,5\n") == 2);
    CHECK(machine->node_of("6-7") == 3);
    CHECK(machine->node_of("0-3") == -1); // a package
    CHECK(machine->node_of("0-7") == -1);
    CHECK(machine->node_of("") == -1);
    CHECK(machine->node_of("80") == -1);
}

TEST_CASE("topology: the nearest device is on the same node, else in the same package, else the "
          "first")
{
    const auto machine = four_nodes();
    if (machine == nullptr) {
        return;
    }
    const auto nearest = [&](int node, const std::vector<int> &devices) {
        return machine->nearest(node, devices);
    };
    CHECK(nearest(3, {0, 3, 2}) == 1);
    CHECK(nearest(3, {0, 1, 2}) == 2);
    CHECK(nearest(1, {2, 0, 3}) == 1);
    CHECK(nearest(0, {2, 3}) == 0);
    CHECK(nearest(2, {-1, 0, 2, 2}) == 2);
    CHECK(nearest(2, {-1, 0}) == 1); // known before unknown
    CHECK(nearest(-1, {3, 0}) == 0);
    CHECK(nearest(9, {3, 0}) == 0);
    CHECK(nearest(1, {-1, -1}) == 0);
}

TEST_CASE("topology: a description that is none is refused")
{
    if (four_nodes() == nullptr) {
        return;
    }
    CHECK(ucs::topology::of_text("two nodes").status() == UFX_ERR_INVALID_PARAM);
}

TEST_CASE("topology: memory has the policy to be on a node, and keeps its own without one")
{
    if (four_nodes() == nullptr) {
        return;
    }
    constexpr size_t size = 1 << 16;
    void *at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    const auto policy = [at] {
        int mode = -1;
        return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0, at, MPOL_F_ADDR) == 0 ? mode : -1;
    };
    CHECK(ucs::prefer_node(at, size, -1));
    if (policy() == -1) {
        ::munmap(at, size);
        return test::skip("the kernel has no NUMA");
    }
    CHECK(policy() == MPOL_DEFAULT);
    CHECK(!ucs::prefer_node(at, size, 100000));
    CHECK(ucs::prefer_node(at, size, 0));
    CHECK(policy() == MPOL_PREFERRED);
    ::munmap(at, size);
}
