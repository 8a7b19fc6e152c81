// SPDX-License-Identifier: BSD-3-Clause
// A pipe that is full loses events, so it holds as many as the kernel lets it: with the usual limit
// of 1 MB, 131072 of completion queues. That is far more than there are between two reads.
#include "event_pipe.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ufx::swhca {

namespace {

constexpr int out_of_the_way = 900; // programs count on low numbers for what they open themselves
constexpr size_t max_event_bytes = 16;
constexpr int wanted_bytes = 1 << 20; // /proc/sys/fs/pipe-max-size

} // namespace

ucs::result<event_pipe> event_pipe::create()
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return ucs::status_from_errno(errno);
    }
    event_pipe made;
    made.read_end_ = ends[0];
    int moved = ::fcntl(ends[1], F_DUPFD_CLOEXEC, out_of_the_way);
    if (moved >= 0) {
        ::close(ends[1]);
        ends[1] = moved;
    }
    made.write_end_.reset(ends[1]);
    (void)::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    (void)::fcntl(ends[1], F_SETPIPE_SZ, wanted_bytes);
    return made;
}

uint32_t event_pipe::withdraw(uint64_t element, size_t size) noexcept
{
    // A second opening of the read end, so that the program's own stays as it is (blocking or not).
    std::array<char, 32> name;
    std::snprintf(name.data(), name.size(), "/proc/self/fd/%d", read_end_);
    ucs::fd reader(::open(name.data(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    std::vector<std::array<char, max_event_bytes>> others;
    std::array<char, max_event_bytes> event{};
    uint32_t found = 0;
    while (reader.valid() &&
           ::read(reader.get(), event.data(), size) == static_cast<ssize_t>(size)) {
        uint64_t of = 0;
        std::memcpy(&of, event.data(), sizeof(of));
        if (of == element) {
            found++;
        } else {
            others.push_back(event);
        }
    }
    for (const auto &each : others) {
        (void)!::write(write_end_.get(), each.data(), size);
    }
    return found;
}

} // namespace ufx::swhca
