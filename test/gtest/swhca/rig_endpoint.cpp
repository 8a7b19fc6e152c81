// SPDX-License-Identifier: BSD-3-Clause
// An endpoint: a QP as libmlx5 drives it.
#include "rig.h"

#include "rig_bytes.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace ufx::test {

namespace {

constexpr uint8_t completion_flag = 8;
constexpr uint8_t solicited_flag = 2;
constexpr uint8_t fence_flag = 4 << 5;
constexpr uint32_t receive_shift = 6;

} // namespace

endpoint::endpoint(device &of, uint8_t type, const shared_queue *srq, const qp_options &options)
    : on(of), buffer_((receives << receive_shift) + blocks * 64, 0)
{
    swhca::qp_request want{};
    want.type = type;
    want.sq_signal_all = options.signal_all;
    want.scatter_to_cqe = options.scatter_to_cqe;
    want.allow_scatter_to_cqe = options.allow_scatter_to_cqe;
    want.pd = on.pd;
    want.send_cq = want.recv_cq = on.cq;
    want.srq = srq == nullptr ? swhca::no_index : srq->handle;
    want.max_send_wr = blocks;
    want.max_recv_wr = receives;
    want.max_send_sge = want.max_recv_sge = 1;
    want.sq_blocks = blocks;
    want.rq_size = receives;
    want.rq_shift = receive_shift;
    want.buffer = reinterpret_cast<uintptr_t>(buffer_.data());
    want.doorbell = reinterpret_cast<uintptr_t>(doorbell_);
    want.user_handle = 0x90;
    REQUIRE(on.on.command([&](swhca::core &world) {
        return swhca::create_qp(world, on.context, want, handle, qpn);
    }) == 0);
}

void endpoint::connect(const endpoint &peer, uint32_t psn, const qp_settings &with)
{
    connect_to(on.on.shared().contexts[peer.on.context].hca, peer.qpn, psn, with);
}

void endpoint::connect_to(uint32_t hca, uint32_t peer_qpn, uint32_t psn, const qp_settings &with)
{
    swhca::image &shared = on.on.shared();
    swhca::qp_attributes attr{};
    attr.mtu = with.mtu;
    attr.timeout = with.timeout;
    attr.retry_count = with.retry_count;
    attr.rnr_retry = with.rnr_retry;
    attr.min_rnr_timer = 1; // 10 us
    attr.max_rd_atomic = with.max_rd_atomic;
    attr.max_dest_rd_atomic = with.max_dest_rd_atomic;
    attr.port_num = 1;
    attr.access = with.access;
    attr.dest_qpn = peer_qpn;
    attr.rq_psn = attr.sq_psn = psn;
    attr.path.global = true;
    attr.path.port_num = 1;
    attr.path.dgid = shared.hcas[hca].port.gids[1];
    // IBV_QP_* bits: what INIT, RTR and RTS need.
    struct {
        uint8_t state;
        uint32_t mask;
    } steps[] = {{1, 1 | 0x8 | 0x10 | 0x20},
                 {2, 1 | 0x80 | 0x100 | 0x1000 | 0x8000 | 0x20000 | 0x100000},
                 {3, 1 | 0x200 | 0x400 | 0x800 | 0x2000 | 0x10000}};
    for (const auto &each : steps) {
        REQUIRE(on.on.command([&](swhca::core &world) {
            return swhca::modify_qp(world, on.context, handle, each.mask, each.state, attr);
        }) == 0);
    }
}

void endpoint::start_datagrams(uint32_t qkey)
{
    swhca::qp_attributes attr{};
    attr.port_num = 1;
    attr.qkey = qkey;
    struct {
        uint8_t state;
        uint32_t mask;
    } steps[] = {{1, 1 | 0x10 | 0x20 | 0x40}, {2, 1}, {3, 1 | 0x10000}};
    for (const auto &each : steps) {
        REQUIRE(on.on.command([&](swhca::core &world) {
            return swhca::modify_qp(world, on.context, handle, each.mask, each.state, attr);
        }) == 0);
    }
}

void endpoint::post(uint8_t opcode, uint8_t flags, uint32_t imm, const bytes &segments,
                    uint32_t modifier)
{
    bytes wqe;
    be32(wqe, modifier << 24 | static_cast<uint32_t>(posted_) << 8 | opcode);
    be32(wqe, qpn << 8 | static_cast<uint32_t>(1 + (segments.size() + 15) / 16));
    be32(wqe, flags);
    be32(wqe, imm);
    wqe.insert(wqe.end(), segments.begin(), segments.end());
    wqe.resize((wqe.size() + 63) / 64 * 64);
    for (size_t i = 0; i < wqe.size(); i += 64) {
        std::memcpy(&buffer_[(receives << receive_shift) + (posted_ % blocks) * 64], &wqe[i], 64);
        posted_++;
    }
    doorbell_[1] = swap(posted_);
}

void endpoint::raw(const bytes &wqe)
{
    std::memcpy(&buffer_[(receives << receive_shift) + (posted_ % blocks) * 64], wqe.data(),
                std::min<size_t>(wqe.size(), 64));
    posted_++;
    doorbell_[1] = swap(posted_);
}

bytes endpoint::remote(const region &to, size_t offset) const
{
    bytes segment;
    be64(segment, to.at(offset));
    be32(segment, to.key);
    be32(segment, 0);
    return segment;
}

void endpoint::write(const region &from, uint32_t length, const region &to, size_t offset,
                     bool fence)
{
    bytes segments = remote(to, offset);
    if (length > 0) {
        data_segment(segments, from, 0, length);
    }
    post(0x08, completion_flag | (fence ? fence_flag : 0), 0, segments);
}

void endpoint::write_imm(const region &from, uint32_t length, const region &to, uint32_t imm)
{
    bytes segments = remote(to, 0);
    data_segment(segments, from, 0, length);
    post(0x09, completion_flag, imm, segments);
}

void endpoint::send(const region &from, uint32_t length, bool solicited)
{
    bytes segments;
    data_segment(segments, from, 0, length);
    post(0x0a, completion_flag | (solicited ? solicited_flag : 0), 0, segments);
}

void endpoint::send_inline(std::string_view text)
{
    bytes segments;
    be32(segments, 0x80000000u | static_cast<uint32_t>(text.size()));
    segments.insert(segments.end(), text.begin(), text.end());
    segments.resize((segments.size() + 15) / 16 * 16);
    post(0x0a, completion_flag, 0, segments);
}

void endpoint::read(const region &into, uint32_t length, const region &from, bool signaled)
{
    bytes segments = remote(from, 0);
    data_segment(segments, into, 0, length);
    post(0x10, signaled ? completion_flag : 0, 0, segments);
}

void endpoint::fetch_add(const region &into, const region &at, uint64_t add)
{
    bytes segments = remote(at, 0);
    be64(segments, add);
    be64(segments, 0);
    data_segment(segments, into, 0, 8);
    post(0x12, completion_flag, 0, segments);
}

void endpoint::compare_swap(const region &into, const region &at, uint64_t compare,
                            uint64_t swap_to)
{
    bytes segments = remote(at, 0);
    be64(segments, swap_to);
    be64(segments, compare);
    data_segment(segments, into, 0, 8);
    post(0x11, completion_flag, 0, segments);
}

void endpoint::masked_atomic(uint8_t opcode, uint32_t size, const std::vector<uint64_t> &operands,
                             const region &into, const region &at, size_t offset)
{
    bytes segments = remote(at, offset);
    for (uint64_t each : operands) {
        if (size == 4) {
            be32(segments, static_cast<uint32_t>(each));
        } else {
            be64(segments, each);
        }
    }
    segments.resize((segments.size() + 15) / 16 * 16);
    data_segment(segments, into, 0, size);
    post(opcode, completion_flag, 0, segments, size == 4 ? 8 : 9);
}

void endpoint::send_to(const region &from, uint32_t length, const endpoint &peer, uint32_t qkey)
{
    swhca::image &shared = on.on.shared();
    bytes segments;
    be32(segments, qkey);
    be32(segments, 0);
    be32(segments, peer.qpn);
    segments.resize(26);
    segments.push_back(0x60); // traffic class
    segments.push_back(7);    // hop limit
    be32(segments, 1u << 20); // GID index 1
    const swhca::gid &to = shared.hcas[shared.contexts[peer.on.context].hca].port.gids[1];
    segments.insert(segments.end(), std::begin(to.raw), std::end(to.raw));
    data_segment(segments, from, 0, length);
    post(0x0a, completion_flag, 0, segments);
}

void endpoint::receive(const region &into, size_t offset, uint32_t length)
{
    bytes segments;
    data_segment(segments, into, offset, length);
    be32(segments, 0);
    be32(segments, 0x100);
    be64(segments, 0);
    std::memcpy(&buffer_[(received_ % receives) << receive_shift], segments.data(),
                segments.size());
    received_++;
    doorbell_[0] = swap(received_);
}

void endpoint::rewind()
{
    posted_ = received_ = 0;
    doorbell_[0] = doorbell_[1] = 0;
}

int endpoint::to_state(uint8_t state, uint32_t mask)
{
    return on.on.command([&](swhca::core &world) {
        return swhca::modify_qp(world, on.context, handle, mask, state, {});
    });
}

swhca::qp_attributes endpoint::query()
{
    uint8_t state = 0;
    swhca::qp_attributes out{};
    REQUIRE(on.on.command([&](swhca::core &world) {
        return swhca::query_qp(world, on.context, handle, state, out);
    }) == 0);
    return out;
}

uint8_t endpoint::state()
{
    return inside().state;
}

swhca::qp &endpoint::inside()
{
    return on.on.shared().qps[handle];
}

int endpoint::destroy()
{
    swhca::event_count events{};
    return on.on.command(
        [&](swhca::core &world) { return swhca::destroy_qp(world, on.context, handle, events); });
}

} // namespace ufx::test
