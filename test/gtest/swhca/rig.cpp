// SPDX-License-Identifier: BSD-3-Clause
// What libmlx5 does, in as few lines. Its layouts are written down anew here, by offset, so that
// one wrong number in the model cannot pass on both sides.
#include "rig.h"

#include "swhca/engine/membership.h"
#include "swhca/faults/faults.h"
#include "swhca/faults/schedule.h"
#include "ucs/bytes.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fcntl.h>
#include <numeric>
#include <string>
#include <unistd.h>

namespace ufx::test {

namespace {

using bytes = std::vector<uint8_t>;

void be16(bytes &to, uint16_t value)
{
    to.push_back(static_cast<uint8_t>(value >> 8));
    to.push_back(static_cast<uint8_t>(value));
}

void be32(bytes &to, uint32_t value)
{
    be16(to, static_cast<uint16_t>(value >> 16));
    be16(to, static_cast<uint16_t>(value));
}

void be64(bytes &to, uint64_t value)
{
    be32(to, static_cast<uint32_t>(value >> 32));
    be32(to, static_cast<uint32_t>(value));
}

void data_segment(bytes &to, const region &of, size_t offset, uint32_t length)
{
    be32(to, length);
    be32(to, of.key);
    be64(to, of.at(offset));
}

uint32_t swap(uint32_t value)
{
    return __builtin_bswap32(value);
}

constexpr uint8_t completion_flag = 8;
constexpr uint8_t solicited_flag = 2;
constexpr uint8_t fence_flag = 4 << 5;
constexpr uint32_t receive_shift = 6;

} // namespace

swhca::fabric_options rig::two_devices()
{
    swhca::fabric_options options;
    options.hcas = 2;
    return options;
}

rig::rig(const swhca::fabric_options &options)
{
    auto made = swhca::fabric::create_private(options);
    REQUIRE(made);
    fabric_ = std::move(*made);
    fabric_->shared().epoch_ns = now_ns;
    uint32_t self = swhca::join_fabric(fabric_->shared(), now_ns);
    REQUIRE(self != swhca::no_index);
    engine_ = std::make_unique<swhca::engine>(fabric_->shared(), self);
}

rig::~rig()
{
    swhca::leave_fabric(fabric_->shared(), engine_->self(), now_ns);
    ::pthread_mutex_unlock(&fabric_->shared().processes[engine_->self()].alive);
}

void rig::step(uint64_t ns)
{
    now_ns += ns;
    (void)engine_->scan_doorbells();
    do {
        (void)engine_->pass(now_ns);
    } while (engine_->has_work());
}

void rig::fault(std::string_view rule)
{
    swhca::fault_rule parsed{};
    std::string why;
    bool good = swhca::parse_rule(rule, parsed, why);
    INFO(why);
    REQUIRE(good);
    parsed.from_ns += now_ns - shared().epoch_ns;
    parsed.until_ns += parsed.until_ns != 0 ? now_ns - shared().epoch_ns : 0;
    REQUIRE(command([&](swhca::core &world) { return swhca::add_rule(world, parsed); }) == 0);
}

void rig::clear_faults()
{
    (void)command([](swhca::core &world) {
        swhca::clear_rules(world);
        return 0;
    });
}

device::device(rig &of, uint32_t hca, uint32_t entries)
    : on(of), cq_buffer_(entries * 64, 0), entries_(entries)
{
    for (size_t i = 63; i < cq_buffer_.size(); i += 64) {
        cq_buffer_[i] = 0xf1; // invalid, owned by the hardware
    }
    REQUIRE(::pipe2(async_, O_NONBLOCK | O_CLOEXEC) == 0);
    REQUIRE(::pipe2(channel_, O_NONBLOCK | O_CLOEXEC) == 0);
    REQUIRE(on.command([&](swhca::core &world) {
        return swhca::open_context(world, hca, async_[1], context);
    }) == 0);
    REQUIRE(on.command([&](swhca::core &world) { return swhca::alloc_pd(world, context, pd); }) ==
            0);
    swhca::cq_request want{};
    want.entries = entries;
    want.cqe_bytes = 64;
    want.buffer = reinterpret_cast<uintptr_t>(cq_buffer_.data());
    want.doorbell = reinterpret_cast<uintptr_t>(cq_doorbell_);
    want.user_handle = 0xc0;
    REQUIRE(on.command([&](swhca::core &world) {
        int error = swhca::create_channel(world, context, channel_[1], want.channel);
        return error != 0 ? error : swhca::create_cq(world, context, want, cq);
    }) == 0);
}

device::~device()
{
    (void)on.command([&](swhca::core &world) {
        swhca::close_context(world, context);
        return 0;
    });
    for (int each : {async_[0], async_[1], channel_[0], channel_[1]}) {
        ::close(each);
    }
}

region device::make_region(size_t size, uint32_t access)
{
    region made;
    made.bytes.resize(size);
    uint32_t handle = 0;
    swhca::mr_request want{pd, access, made.at(), size, made.at()};
    REQUIRE(on.command([&](swhca::core &world) {
        return swhca::register_mr(world, context, want, handle, made.key);
    }) == 0);
    return made;
}

std::optional<cqe> device::poll()
{
    const uint8_t *at = &cq_buffer_[(consumed_ % entries_) * 64];
    bool turn = (consumed_ / entries_ & 1) != 0;
    uint8_t own = at[63];
    if (own >> 4 == 0xf || (own & 1) != (turn ? 1 : 0)) {
        return {};
    }
    consumed_++;
    cq_doorbell_[0] = swap(consumed_ & 0xffffff);
    uint32_t word = ucs::load_be<uint32_t>(at + 56);
    cqe out{};
    out.opcode = own >> 4;
    out.sent_opcode = static_cast<uint8_t>(word >> 24);
    out.qpn = word & 0xffffff;
    out.counter = ucs::load_be<uint16_t>(at + 60);
    bool error = out.opcode == 13 || out.opcode == 14;
    out.syndrome = error ? at[55] : 0;
    out.bytes = error ? 0 : ucs::load_be<uint32_t>(at + 44);
    out.imm = error ? 0 : ucs::load_be<uint32_t>(at + 36);
    return out;
}

std::optional<event> device::next_event()
{
    struct {
        uint64_t element;
        uint32_t type;
        uint32_t reserved;
    } raw{};
    if (::read(async_[0], &raw, sizeof(raw)) != sizeof(raw)) {
        return {};
    }
    return event{raw.element, raw.type};
}

bool device::next_completion_event()
{
    uint64_t handle = 0;
    return ::read(channel_[0], &handle, sizeof(handle)) == sizeof(handle);
}

void device::arm(bool solicited)
{
    cq_doorbell_[1] =
        swap((arms_++ & 3) << 28 | (solicited ? 1u << 24 : 0) | (consumed_ & 0xffffff));
}

shared_queue::shared_queue(device &on, uint32_t size, uint32_t limit)
    : on_(on), buffer_(size * 64, 0), size_(size)
{
    for (uint32_t i = 0; i < size; i++) {
        ucs::store_be<uint16_t>(&buffer_[i * 64 + 2], static_cast<uint16_t>(i + 1));
    }
    swhca::srq_request want{};
    want.pd = on.pd;
    want.max_wr = size - 1;
    want.max_sge = 3;
    want.limit = limit;
    want.buffer = reinterpret_cast<uintptr_t>(buffer_.data());
    want.doorbell = reinterpret_cast<uintptr_t>(doorbell_);
    want.user_handle = 0x50;
    REQUIRE(on.on.command([&](swhca::core &world) {
        return swhca::create_srq(world, on.context, want, handle);
    }) == 0);
    REQUIRE(want.max_wr == size - 1);
}

void shared_queue::post(const region &into, size_t offset, uint32_t length)
{
    bytes segment;
    data_segment(segment, into, offset, length);
    be32(segment, 0);
    be32(segment, 0x100);
    std::memcpy(&buffer_[posted_ % size_ * 64 + 16], segment.data(), segment.size());
    posted_++;
    doorbell_[0] = swap(posted_ & 0xffff);
}

endpoint::endpoint(device &of, uint8_t type, const shared_queue *srq)
    : on(of), buffer_((receives << receive_shift) + blocks * 64, 0)
{
    swhca::qp_request want{};
    want.type = type;
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
    attr.dest_qpn = peer.qpn;
    attr.rq_psn = attr.sq_psn = psn;
    attr.path.global = true;
    attr.path.dgid = shared.hcas[shared.contexts[peer.on.context].hca].port.gids[1];
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

void endpoint::post(uint8_t opcode, uint8_t flags, uint32_t imm, const bytes &segments)
{
    bytes wqe;
    be32(wqe, static_cast<uint32_t>(posted_) << 8 | opcode);
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

void endpoint::read(const region &into, uint32_t length, const region &from)
{
    bytes segments = remote(from, 0);
    data_segment(segments, into, 0, length);
    post(0x10, completion_flag, 0, segments);
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

void endpoint::send_to(const region &from, uint32_t length, const endpoint &peer, uint32_t qkey)
{
    swhca::image &shared = on.on.shared();
    bytes segments;
    be32(segments, qkey);
    be32(segments, 0);
    be32(segments, peer.qpn);
    segments.resize(28);
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
    uint32_t events = 0;
    return on.on.command(
        [&](swhca::core &world) { return swhca::destroy_qp(world, on.context, handle, events); });
}

pair::pair(const qp_settings &with, const swhca::fabric_options &options) : fabric(options)
{
    left.connect(right, 100, with);
    right.connect(left, 100, with);
    std::iota(from.bytes.begin(), from.bytes.end(), static_cast<uint8_t>(1));
}

cqe pair::wait(device &of, uint64_t limit_ns)
{
    std::optional<cqe> found;
    bool came = fabric.until(
        [&] {
            found = found ? found : of.poll();
            return found.has_value();
        },
        10'000, limit_ns);
    REQUIRE(came);
    return *found;
}

bool pair::same(size_t size) const
{
    return std::memcmp(from.bytes.data(), to.bytes.data(), size) == 0;
}

} // namespace ufx::test
