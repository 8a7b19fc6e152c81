// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the addresses that peers of the RDMA transports hand to connect_to_ep. What is taken
// is in range and comes back from its own encoding.
//
// Input: a port's address, then a queue pair's.
#include "uct/ib/common/address.h"
#include "uct/ib/common/psn.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

using namespace ufx::uct::ib;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

void check(const port_address &port)
{
    expect(port.mtu_shift >= 8 && port.mtu_shift <= 12);
    std::array<std::byte, port_address::packed_size> bytes{};
    pack(port, bytes.data());
    const auto again = unpack_port(bytes.data());
    expect(again && again->gid == port.gid && again->lid == port.lid &&
           again->ethernet == port.ethernet && again->mtu_shift == port.mtu_shift);
}

void check(const qp_address &qp)
{
    expect(qp.qpn <= psn_mask && qp.psn <= psn_mask && qp.max_reads >= 1 && qp.max_reads <= 255);
    std::array<std::byte, qp_address::packed_size> bytes{};
    pack(qp, bytes.data());
    const auto again = unpack_qp(bytes.data());
    expect(again && again->tag == qp.tag && again->qpn == qp.qpn && again->psn == qp.psn &&
           again->flush_addr == qp.flush_addr && again->flush_rkey == qp.flush_rkey &&
           again->max_reads == qp.max_reads && again->seg_size == qp.seg_size);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    if (size < port_address::packed_size + qp_address::packed_size) {
        return 0;
    }
    if (const auto port = unpack_port(data)) {
        check(*port);
    }
    if (const auto qp = unpack_qp(data + port_address::packed_size)) {
        check(*qp);
    }
    return 0;
}
