// SPDX-License-Identifier: BSD-3-Clause
// What libmlx5 does, in as few lines. Its layouts are written down anew here, by offset, so that
// one wrong number in the model cannot pass on both sides.
#include "rig.h"

#include "rig_bytes.h"

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
    shared_ = &fabric_->shared();
    shared_->epoch_ns = now_ns;
    join();
}

rig::rig(rig &of) : now_ns(of.now_ns), shared_(of.shared_)
{
    join();
}

void rig::join()
{
    uint32_t self = swhca::join_fabric(*shared_, now_ns);
    REQUIRE(self != swhca::no_index);
    engine_ = std::make_unique<swhca::engine>(*shared_, self);
}

rig::~rig()
{
    swhca::leave_fabric(*shared_, engine_->self(), now_ns);
    ::pthread_mutex_unlock(&shared_->processes[engine_->self()].alive);
}

void rig::step(uint64_t ns)
{
    now_ns += ns;
    (void)engine_->scan_doorbells();
    do {
        (void)engine_->pass(now_ns);
    } while (engine_->has_work());
}

void rig::step_woken(uint64_t ns)
{
    engine_->take_left();
    step(ns);
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

device::device(rig &of, uint32_t hca, uint32_t entries, uint32_t entry_bytes)
    : on(of), cq_buffer_(entries * entry_bytes, 0), entries_(entries), entry_bytes_(entry_bytes)
{
    for (size_t i = entry_bytes - 1; i < cq_buffer_.size(); i += entry_bytes) {
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
    want.cqe_bytes = entry_bytes;
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
    const uint8_t *at = &cq_buffer_[(consumed_ % entries_ + 1) * entry_bytes_ - 64];
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
    if ((own & 4) != 0) { // in the first half of the CQE, or in the 64 bytes before it
        out.inlined.assign(at, at + out.bytes);
    } else if ((own & 8) != 0) {
        out.inlined.assign(at - 64, at - 64 + out.bytes);
    }
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

void connect_both(endpoint &one, endpoint &other)
{
    one.connect(other);
    other.connect(one);
}

std::string refusal(std::string_view line)
{
    swhca::fault_rule rule{};
    std::string why;
    return swhca::parse_rule(line, rule, why) ? "" : why;
}

datagram_pair::datagram_pair()
{
    left.start_datagrams(qkey);
    right.start_datagrams(qkey);
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
