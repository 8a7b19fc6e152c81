// SPDX-License-Identifier: BSD-3-Clause
// Writing events. Layouts: struct ib_uverbs_async_event_desc and ib_uverbs_comp_event_desc.
#include "events.h"

#include "swhca/fabric/liveness.h"
#include "swhca/fabric/repair.h"
#include "swhca/fabric/wakeup.h"
#include "ucs/fd.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <rdma/ib_user_verbs.h>
#include <unistd.h>

namespace ufx::swhca {

namespace {

// False if there is no room.
bool write_later(core &world, uint32_t process, int number, const void *data, size_t size) noexcept
{
    image &shared = world.shared;
    if (shared.late_event_count == max_late_events || !lives(shared.processes[process])) {
        return false;
    }
    late_event &to = shared.late_events[shared.late_event_count];
    to = {process, number, static_cast<uint32_t>(size), {}};
    std::memcpy(to.bytes, data, size);
    in_this_order();
    shared.late_event_count++;
    wake_process(shared, process);
    return true;
}

// A pipe of another process is opened by way of its descriptor in /proc; if that is forbidden, the
// process writes itself. A full pipe, or a process that is gone, loses the event.
bool write_pipe(core &world, uint32_t process, int number, const void *data, size_t size) noexcept
{
    if (number < 0) {
        return false;
    }
    if (process == world.memory.self()) {
        return ::write(number, data, size) == static_cast<ssize_t>(size);
    }
    if (!world.memory.reaches(process)) {
        return write_later(world, process, number, data, size);
    }
    std::array<char, 64> path;
    std::snprintf(path.data(), path.size(), "/proc/%d/fd/%d", world.shared.processes[process].owner,
                  number);
    ucs::fd pipe(::open(path.data(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (!pipe && (errno == EACCES || errno == EPERM)) {
        return write_later(world, process, number, data, size);
    }
    return pipe.valid() && ::write(pipe.get(), data, size) == static_cast<ssize_t>(size);
}

// Takes late events out of the list for which `chosen` says so.
template <class Chosen>
void take_late_events(image &shared, Chosen chosen) noexcept
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < shared.late_event_count; i++) {
        if (!chosen(shared.late_events[i])) {
            shared.late_events[kept++] = shared.late_events[i];
        }
    }
    shared.late_event_count = kept;
}

template <class Write>
void count(event_count &into, Write write) noexcept
{
    into.doubtful += into.writing ? 1 : 0; // its writer was killed
    into.writing = true;
    in_this_order();
    into.written += write() ? 1 : 0;
    in_this_order();
    into.writing = false;
}

bool raise(core &world, uint32_t context_index, uint64_t element, uint32_t event) noexcept
{
    const context &one = world.shared.contexts[context_index];
    ib_uverbs_async_event_desc what{};
    what.element = element;
    what.event_type = event;
    return write_pipe(world, one.process, one.async_fd, &what, sizeof(what));
}

} // namespace

void raise_qp_event(core &world, qp &one, uint32_t event) noexcept
{
    count(one.events, [&] { return raise(world, one.context, one.user_handle, event); });
}

void raise_cq_event(core &world, cq &one, uint32_t event) noexcept
{
    count(one.async_events, [&] { return raise(world, one.context, one.user_handle, event); });
}

void raise_srq_event(core &world, srq &one, uint32_t event) noexcept
{
    count(one.events, [&] { return raise(world, one.context, one.user_handle, event); });
}

void raise_device_event(core &world, uint32_t hca, uint32_t event) noexcept
{
    constexpr uint64_t port_number = 1;
    for (uint32_t i = 0; i < max_contexts; i++) {
        const context &one = world.shared.contexts[i];
        if (one.in_use && !one.dead && one.hca == hca) {
            (void)raise(world, i, port_number, event);
        }
    }
}

void raise_completion_event(core &world, cq &one) noexcept
{
    const channel &to = world.shared.channels[one.channel];
    ib_uverbs_comp_event_desc what{};
    what.cq_handle = one.user_handle;
    uint32_t process = world.shared.contexts[to.context].process;
    count(one.events, [&] { return write_pipe(world, process, to.write_fd, &what, sizeof(what)); });
}

uint32_t events_reported(const event_count &of, uint32_t unread, uint32_t acknowledged) noexcept
{
    uint32_t most = of.written + of.doubtful + (of.writing ? 1 : 0);
    return std::clamp(acknowledged + unread, of.written, most) - unread;
}

void write_late_events(core &world) noexcept
{
    take_late_events(world.shared, [self = world.memory.self()](const late_event &each) {
        if (each.process == self) {
            (void)!::write(each.write_fd, each.bytes, each.size);
        }
        return each.process == self;
    });
}

void forget_late_events(core &world, uint32_t process) noexcept
{
    take_late_events(world.shared,
                     [process](const late_event &each) { return each.process == process; });
}

} // namespace ufx::swhca
