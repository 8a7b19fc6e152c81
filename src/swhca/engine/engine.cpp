// SPDX-License-Identifier: BSD-3-Clause
// A pass: timed faults, deliveries, timers, then QPs with work, until nothing is left or the turn
// is over.
#include "engine.h"

#include "link.h"
#include "settle.h"

#include "swhca/fabric/doorbell_count.h"
#include "swhca/fabric/repair.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/faults/faults.h"
#include "swhca/model/completion_queue.h"
#include "swhca/model/events.h"
#include "swhca/model/queue_pair.h"
#include "swhca/model/requester.h"
#include "ucs/bytes.h"

#include <algorithm>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

namespace ufx::swhca {

namespace {

constexpr uint32_t turns_per_pass = 256; // of QPs; then the lock is given up
constexpr uint32_t max_rounds = 4;       // of passes for others; the helper does the rest

bool take_turn(core &world, uint32_t index) noexcept
{
    works_on torn_if_killed(world.shared, index);
    return run_queue_pair(world, world.shared.qps[index]);
}

} // namespace

uint64_t engine::pass(uint64_t now_ns, engine_caller by) noexcept
{
    uint64_t next_ns = 0;
    {
        image_lock lock(shared_);
        lock.looks_again();
        core world{shared_, memory_, now_ns};
        mend_torn(world);
        next_ns = finish(world, by);
    }
    look_again(now_ns);
    return next_ns;
}

void engine::try_pass(uint64_t now_ns) noexcept
{
    for (uint32_t rounds = 0; rounds < max_rounds && has_due(now_ns); rounds++) {
        image_lock lock(shared_, std::try_to_lock);
        if (!lock.held()) {
            return; // the holder looks again
        }
        lock.looks_again();
        core world{shared_, memory_, now_ns};
        mend_torn(world);
        (void)finish(world);
    }
    if (has_work()) {
        wake_for_pending(shared_);
    }
}

// What others have posted meanwhile, who could not have the lock.
void engine::look_again(uint64_t now_ns) noexcept
{
    if (has_work()) {
        try_pass(now_ns);
    }
}

// The QPs on which somebody was killed. One in RESET has nothing that could be torn.
void engine::mend_torn(core &world) noexcept
{
    mend_if(world, [this](const qp &one) { return is_completing(shared_, one); });
    mend_if(world, [](const qp &) { return true; });
}

template <class Chosen>
void engine::mend_if(core &world, Chosen chosen) noexcept
{
    for (uint32_t i = shared_.torn.next(0); i != shared_.torn.none; i = shared_.torn.next(i + 1)) {
        qp &one = shared_.qps[i];
        if (!chosen(one)) {
            continue;
        }
        if (one.in_use && one.state != IBV_QPS_RESET && !memory_.reaches(one.process)) {
            wake_process(shared_, one.process);
            continue;
        }
        if (one.in_use && one.state != IBV_QPS_RESET) {
            works_on torn_if_killed(shared_, i);
            settle_torn(world, i);
        }
        shared_.torn.remove(i);
    }
}

uint64_t engine::finish(core &world, engine_caller by) noexcept
{
    write_late_events(world);
    uint64_t next_ns = run_timed_rules(world);
    next_ns = std::min(next_ns, release_held_cqes(world));
    next_ns = std::min(next_ns, run_all_timers(world, by));
    (void)deliver_due(world);
    run_pending(world);
    next_ns = std::min(next_ns, run_all_timers(world, by));
    next_ns = std::min(next_ns, deliver_due(world));
    check_arms(world);
    next_ns = std::min(next_ns, raise_waiting_events(world));
    if (!shared_.pending.empty()) {
        next_ns = world.now_ns;
    }
    shared_.next_due_ns.store(next_ns, std::memory_order_release);
    wake_if_later(self(), next_ns, by); // its helper looks after what this pass leaves
    return next_ns;
}

void engine::wake_if_later(uint32_t process, uint64_t due_ns, engine_caller by) noexcept
{
    std::atomic<uint64_t> &until_ns = shared_.processes[process].sleeps_until;
    bool for_itself = by == engine_caller::HELPER && process == self();
    if (!for_itself && due_ns < until_ns.load(std::memory_order_seq_cst)) {
        until_ns.store(due_ns, std::memory_order_seq_cst); // once is enough
        wake_process(shared_, process);
    }
}

void engine::run_pending(core &world) noexcept
{
    uint32_t turns = 0;
    while (turns < turns_per_pass) {
        uint32_t index = shared_.pending.next(0);
        if (index == shared_bitmap<max_qps>::none) {
            return;
        }
        for (; index != shared_bitmap<max_qps>::none && turns < turns_per_pass;
             index = shared_.pending.next(index + 1)) {
            turns++;
            qp &one = shared_.qps[index];
            if (!memory_.reaches(one.process)) {
                if (one.in_use) {
                    shared_.processes[one.process].left.add(index);
                    wake_process(shared_, one.process);
                }
                shared_.pending.remove(index);
                continue;
            }
            shared_.pending.remove(index);
            if (take_turn(world, index)) {
                shared_.pending.add(index);
            }
            (void)deliver_due(world);
        }
    }
}

uint64_t engine::run_all_timers(core &world, engine_caller by) noexcept
{
    uint64_t next_ns = UINT64_MAX;
    uint32_t index = shared_.timers.next(0);
    for (; index != shared_bitmap<max_qps>::none; index = shared_.timers.next(index + 1)) {
        qp &one = shared_.qps[index];
        if (!one.in_use) {
            shared_.timers.remove(index);
        } else if (memory_.reaches(one.process)) {
            works_on torn_if_killed(shared_, index);
            uint64_t due_ns = run_timers(world, one);
            next_ns = std::min(next_ns, due_ns);
            // Its own helper too, in case that this process does not live so long.
            wake_if_later(one.process, due_ns, by);
        }
    }
    return next_ns;
}

void engine::check_arms(core &world) noexcept
{
    shared_bitmap<max_cqs> &mine = shared_.processes[memory_.self()].cqs;
    for (uint32_t i = mine.next(0); i != mine.none; i = mine.next(i + 1)) {
        if (shared_.cqs[i].in_use) {
            check_arm(world, shared_.cqs[i]);
        }
    }
}

bool engine::read_word(uint64_t doorbell, uint32_t word, uint32_t &out) noexcept
{
    uint32_t raw = 0;
    if (!memory_.read(memory_.self(), doorbell + word * sizeof(raw), &raw, sizeof(raw))) {
        return false;
    }
    out = ucs::load_be<uint32_t>(&raw);
    return true;
}

bool engine::scan_doorbells() noexcept
{
    process_slot &self = shared_.processes[memory_.self()];
    uint32_t word = 0;
    for (uint32_t i = self.qps.next(0); i != self.qps.none; i = self.qps.next(i + 1)) {
        qp &one = shared_.qps[i];
        uint32_t seen = one.sq_doorbell.load(std::memory_order_acquire);
        if (read_word(one.doorbell, MLX5_SND_DBR, word) &&
            advance_doorbell(one.sq_doorbell, seen, static_cast<uint16_t>(word), one.sq_blocks)) {
            shared_.pending.add(i);
        }
    }
    for (uint32_t i = self.failed.next(0); i != self.failed.none; i = self.failed.next(i + 1)) {
        if (read_word(shared_.qps[i].doorbell, MLX5_RCV_DBR, word) &&
            receives_seen_[i].exchange(word, std::memory_order_relaxed) != word) {
            shared_.pending.add(i);
        }
    }
    bool armed = false;
    for (uint32_t i = self.cqs.next(0); i != self.cqs.none; i = self.cqs.next(i + 1)) {
        armed = (read_word(shared_.cqs[i].doorbell, cq_arm_word, word) &&
                 arms_seen_[i].exchange(word, std::memory_order_relaxed) != word) ||
                armed;
    }
    return armed;
}

void engine::take_left() noexcept
{
    shared_bitmap<max_qps> &left = shared_.processes[memory_.self()].left;
    for (uint32_t i = left.next(0); i != left.none; i = left.next(i + 1)) {
        left.remove(i); // first: it may be left again at once
        shared_.pending.add(i);
    }
}

} // namespace ufx::swhca
