// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the core with a peer that has shaken hands and then sends any sequence of control
// messages, while lanes fail, timers fire and the user works.
//
// Input: steps. First byte below 64: a message of that type, u8 length and its fields behind; from
// 64 on: an event of this side, chosen by the byte, on the rail that the next byte names.
#include "ucp/core/control_codec.h"
#include "ucp/core/peer.h"
#include "ucs/bytes.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

using namespace ufx::ucp::core;

constexpr ep_id own_ep = 1;
constexpr std::uint8_t first_event = 64;
constexpr unsigned answers_per_step = 10000;

void expect(bool holds)
{
    if (!holds) {
        std::abort();
    }
}

// A worker that carries out every action at once.
class victim {
public:
    explicit victim(bool starter) : peer_({}, starter)
    {
        peer_.add_rail(0, now_, out_);
        peer_.add_rail(1, now_, out_);
        peer_.open_ep(own_ep, 1, 1, error_mode::FAILOVER, now_, out_);
        perform();
    }

    void message(std::uint8_t type, std::span<const std::uint8_t> fields)
    {
        std::vector<std::byte> frame(18);
        frame[0] = std::byte{control_version};
        frame[1] = std::byte{type};
        const auto bytes = std::as_bytes(fields);
        frame.insert(frame.end(), bytes.begin(), bytes.end());
        if (const auto msg = decode(frame)) {
            peer_.control(msg->msg, now_, out_);
            perform();
        }
    }

    void event(std::uint8_t what, std::uint8_t where)
    {
        const rail_id rail = where % 2;
        const ep *e = peer_.find_ep(own_ep);
        const lane_slot *l = e != nullptr ? e->lane(rail) : nullptr;
        switch (what % 10) {
        case 0:
        case 1:
        case 2:
            fire();
            break;
        case 3:
            if (l != nullptr) {
                peer_.lane_failed(l->ref(), static_cast<cause>(1 + where / 2 % 7), now_, out_);
            }
            break;
        case 4:
            post(rail);
            break;
        case 5:
            peer_.rail_port(rail, (where & 2) != 0, now_, out_);
            break;
        case 6:
            peer_.rail_hard(rail, cause::DEVICE_FATAL, now_, out_);
            break;
        case 7:
            peer_.admin(rail, static_cast<admin_action>(where / 2 % 2), now_, out_);
            break;
        case 8:
            peer_.rail_soft(rail, sign::STALL, cause::STALL, now_, out_);
            break;
        case 9:
            peer_.close_ep(own_ep, (where & 1) != 0, now_, out_);
            break;
        }
        perform();
    }

private:
    void post(rail_id rail)
    {
        ep *e = peer_.find_ep(own_ep);
        if (e == nullptr) {
            return;
        }
        (void)e->admit_am(++handle_, 2, 0);
        const am_tx::entry *am = peer_.may_post(own_ep, rail) ? e->next_am(rail) : nullptr;
        if (am != nullptr) {
            e->am_posted(
                am->number, rail, false, [&] { return now_; }, out_);
        }
    }
    void fire()
    {
        if (const auto at = timers_.next()) {
            now_ = std::max(now_, *at);
            peer_.timer(*timers_.take_due(now_), now_, out_);
        }
    }
    void perform()
    {
        for (unsigned i = 0; !out_.empty(); ++i) {
            expect(i < answers_per_step);
            action_list batch;
            batch.swap(out_);
            for (const action &a : batch) {
                std::visit([&](const auto &x) { act_on(x); }, a);
            }
        }
    }
    void act_on(const act::send &a)
    {
        std::array<std::byte, max_control_bytes> bytes;
        expect(encode({}, a.msg, bytes).ok());
    }
    void act_on(const act::arm_timer &a) { timers_.arm(a.timer, a.at); }
    void act_on(const act::disarm_timer &a) { timers_.disarm(a.timer); }
    void act_on(const act::create_lane &a) { peer_.lane_created(a.lane, {}, {}, now_, out_); }
    void act_on(const act::connect_lane &a) { peer_.lane_connected(a.lane, now_, out_); }
    void act_on(const act::quiesce_lane &a) { peer_.lane_quiet(a.lane, false, now_, out_); }
    void act_on(const act::drain_receives &a) { peer_.receives_drained(a.lane, now_, out_); }
    void act_on(const act::read_token &a) { peer_.token_read(a.lane, {}, now_, out_); }
    void act_on(const act::purge_lane &a) { peer_.purged(a.lane, {}, now_, out_); }
    void act_on(const act::run_probe &a) { peer_.probe_done(a.rail, a.epoch, true, now_, out_); }
    void act_on(const act::await_idle &a) { peer_.rail_idle(a.rail, now_, out_); }
    void act_on(const act::incoming_ep &a) { peer_.refuse_ep(a.msg, refusal::BY_USER, out_); }
    void act_on(const act::ep_error &a)
    {
        expect(peer_.find_ep(a.ep)->lanes_free() && peer_.find_ep(a.ep)->idle());
    }
    void act_on(const act::fragment_done &a)
    {
        ended_.resize(std::max<std::size_t>(ended_.size(), a.handle + 1));
        const auto bit = static_cast<std::uint8_t>(1U << a.part);
        expect((ended_[a.handle] & bit) == 0); // once
        ended_[a.handle] |= bit;
    }
    template <class A>
    void act_on(const A &)
    {
    }

    peer peer_;
    action_list out_;
    timer_set timers_;
    time_ns now_ = 1;
    std::uint64_t handle_ = 0;
    std::vector<std::uint8_t> ended_; // by handle, a bit a fragment
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    for (const bool starter : {true, false}) {
        victim v(starter);
        ufx::ucs::byte_reader in(data, size);
        while (in.remaining() >= 2) {
            const std::uint8_t what = in.u8();
            const std::uint8_t next = in.u8();
            if (what >= first_event) {
                v.event(what, next);
                continue;
            }
            const auto fields = in.bytes(std::min<std::size_t>(next, in.remaining()));
            v.message(what, {reinterpret_cast<const std::uint8_t *>(fields.data()), fields.size()});
        }
    }
    return 0;
}
