// SPDX-License-Identifier: BSD-3-Clause
// A slot is taken while its `alive` mutex is held by somebody who lives.
#include "membership.h"

#include "process_memory.h"

#include "swhca/fabric/fabric.h"
#include "swhca/fabric/repair.h"
#include "swhca/model/verbs.h"

#include <cerrno>
#include <sys/prctl.h>
#include <sys/uio.h>
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
            close_contexts_of(world, i);
            ::pthread_mutex_unlock(&slot.alive);
            found++;
        }
    }
    return found;
}

// Whether the kernel lets this process read the other one (Yama, seccomp, another user).
bool may_reach(const process_slot &other) noexcept
{
    uint64_t word = 0;
    iovec local{&word, sizeof(word)};
    iovec remote{reinterpret_cast<void *>(static_cast<uintptr_t>(other.probe)), sizeof(word)};
    return ::process_vm_readv(other.pid, &local, 1, &remote, 1, 0) ==
           static_cast<ssize_t>(sizeof(word));
}

uint64_t probe_word = 1; // something that others may try to read

} // namespace

uint32_t join_fabric(image &shared, uint64_t now_ns)
{
    (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    image_lock lock(shared);
    process_memory memory(shared, no_index);
    core world{shared, memory, now_ns};
    (void)reap(world);
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
        slot.probe = reinterpret_cast<uintptr_t>(&probe_word);
        slot.reachable = true;
        slot.sleeps_until.store(0, std::memory_order_relaxed);
        for (process_slot &other : shared.processes) {
            if (&other != &slot && other.in_use && !may_reach(other)) {
                other.reachable = slot.reachable = false;
            }
        }
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

uint32_t reap_dead(image &shared, uint32_t self, uint64_t now_ns)
{
    image_lock lock(shared);
    process_memory memory(shared, self);
    core world{shared, memory, now_ns};
    return reap(world);
}

} // namespace ufx::swhca
