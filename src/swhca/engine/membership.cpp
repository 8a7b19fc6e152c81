// SPDX-License-Identifier: BSD-3-Clause
// A slot is taken while its `alive` mutex is held by somebody who lives.
#include "membership.h"

#include "process_memory.h"

#include "swhca/fabric/fabric.h"
#include "swhca/fabric/liveness.h"
#include "swhca/fabric/repair.h"
#include "swhca/fabric/wakeup.h"
#include "swhca/model/events.h"
#include "swhca/model/verbs.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sys/prctl.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

void close_contexts_of(core &world, uint32_t process)
{
    for (uint32_t i = 0; i < max_contexts; i++) {
        if (world.shared.contexts[i].in_use && world.shared.contexts[i].process == process) {
            close_context(world, i);
        }
    }
    forget_late_events(world, process);
    in_this_order();
    world.shared.processes[process].in_use = false;
}

uint32_t reap(core &world)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < max_processes; i++) {
        process_slot &slot = world.shared.processes[i];
        if (!slot.in_use || i == world.memory.self()) {
            continue;
        }
        int status = ::pthread_mutex_trylock(&slot.alive);
        if (status == EOWNERDEAD) {
            ::pthread_mutex_consistent(&slot.alive);
        }
        if (status == 0 || status == EOWNERDEAD) {
            slot.owner = 0; // its memory is gone, and its pid may be another's
            close_contexts_of(world, i);
            ::pthread_mutex_unlock(&slot.alive);
            found++;
        }
    }
    return found;
}

bool has_process(const image &shared) noexcept
{
    return std::any_of(std::begin(shared.processes), std::end(shared.processes),
                       [](const process_slot &each) { return each.in_use; });
}

uint64_t probe_word = 1; // something that others may try to read

// Nobody knows yet who may access whose memory.
void forget_reach(image &shared, uint32_t process) noexcept
{
    for (process_slot &each : shared.processes) {
        uint64_t others = &each == &shared.processes[process] ? 0 : ~(1ull << process);
        each.reached_by.fetch_and(others, std::memory_order_relaxed);
        each.refused_to.fetch_and(others, std::memory_order_relaxed);
    }
}

} // namespace

uint32_t join_fabric(image &shared, uint64_t now_ns)
{
    (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    note_pid_namespace();
    image_lock lock(shared);
    process_memory memory(shared, no_index);
    core world{shared, memory, now_ns};
    (void)reap(world);
    if (is_stepped(shared) && has_process(shared)) {
        return no_index;
    }
    for (uint32_t i = 0; i < max_processes; i++) {
        process_slot &slot = shared.processes[i];
        if (slot.in_use) {
            continue;
        }
        int status = ::pthread_mutex_trylock(&slot.alive);
        if (status == EOWNERDEAD) {
            ::pthread_mutex_consistent(&slot.alive);
        } else if (status != 0) {
            continue;
        }
        slot.pid = static_cast<int32_t>(::getpid());
        slot.owner = static_cast<int32_t>(::gettid());
        slot.pid_namespace = own_pid_namespace();
        slot.probe = reinterpret_cast<uintptr_t>(&probe_word);
        slot.sleeps_until.store(0, std::memory_order_relaxed);
        forget_reach(shared, i);
        in_this_order();
        slot.in_use = true;
        return i;
    }
    return no_index;
}

void leave_fabric(image &shared, uint32_t self, uint64_t now_ns)
{
    image_lock lock(shared);
    process_memory memory(shared, self);
    core world{shared, memory, now_ns};
    close_contexts_of(world, self);
}

int32_t closed_peer(const image &shared, uint32_t self) noexcept
{
    for (const process_slot &each : shared.processes) {
        if ((each.refused_to.load(std::memory_order_relaxed) >> self & 1) != 0) {
            return each.pid;
        }
    }
    return 0;
}

uint32_t reap_dead(image &shared, uint32_t self, uint64_t now_ns)
{
    image_lock lock(shared);
    process_memory memory(shared, self);
    core world{shared, memory, now_ns};
    return reap(world);
}

} // namespace ufx::swhca
