// SPDX-License-Identifier: BSD-3-Clause
// Cases of the probe that close descriptors of devices in every way there is, and fork.
#include "probe.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

namespace {

// What is written to a number that was a device's must come out of the pipe that it is now.
template <class Replace>
verdict replaced(Replace replace)
{
    probe one;
    one.connect_pair();
    int ends[2];
    if (!one.write() || ::pipe2(ends, O_NONBLOCK) != 0) {
        return "nothing works";
    }
    int number = one.context()->cmd_fd;
    if (!replace(ends[1], number)) {
        return "the number was not given to the pipe";
    }
    char word[4] = {};
    if (::write(number, "abc", 4) != 4 || ::read(ends[0], word, 4) != 4 ||
        std::strcmp(word, "abc") != 0) {
        return "the number is a device still";
    }
    ::_exit(0); // what is left of the device cannot be destroyed in order
}

verdict dup2_over_a_device()
{
    return replaced([](int from, int to) {
        return ::dup2(to, to) == to && ::dup2(-1, to) == -1 && ::dup2(from, to) == to;
    });
}

verdict dup3_over_a_device()
{
    return replaced([](int from, int to) { return ::dup3(from, to, O_CLOEXEC) == to; });
}

verdict close_range_of_a_device()
{
    return replaced([](int from, int to) {
        auto number = static_cast<unsigned>(to);
        return ::close_range(number, number, 0) == 0 && ::fcntl(from, F_DUPFD, to) == to;
    });
}

verdict fclose_of_a_device()
{
    return replaced([](int from, int to) {
        FILE *stream = ::fdopen(to, "w");
        return stream != nullptr && ::fclose(stream) == 0 && ::fcntl(from, F_DUPFD, to) == to;
    });
}

// A child that borrows the parent's memory tidies up, as posix_spawn() and Python do.
verdict vfork_and_close()
{
    probe one;
    one.connect_pair();
    pid_t child = ::vfork();
    if (child == 0) {
        ::close(one.context()->cmd_fd);
        ::close(one.channel()->fd);
        ::_exit(0);
    }
    (void)wait_for_child(child);
    ibv_qp *more = one.make_qp();
    bool works = one.write();
    ibv_destroy_qp(more);
    return works ? nullptr : "the parent lost its device";
}

verdict fork_and_close()
{
    probe one;
    one.connect_pair();
    pid_t child = ::fork();
    if (child == 0) {
        if (ibv_alloc_pd(one.context()) != nullptr) {
            ::_exit(2);
        }
        ::closefrom(3);
        probe own;
        own.connect_pair();
        ::_exit(own.write() ? 0 : 3);
    }
    int status = wait_for_child(child);
    if (!one.write()) {
        return "the parent lost its device";
    }
    return status == 0   ? nullptr
           : status == 2 ? "a child gets objects of its parent's device"
                         : "a child cannot open a device of its own";
}

// Devices that are opened and closed leave no descriptor behind.
verdict open_and_close()
{
    int before = ::open("/dev/null", O_RDONLY);
    constexpr int times = 30;
    for (int i = 0; i < times; i++) {
        probe one;
        one.connect_pair();
        if (!one.write()) {
            return "a write failed";
        }
    }
    int after = ::open("/dev/null", O_RDONLY);
    return after <= before + 2 ? nullptr : "descriptors are left";
}

// A context has one completion vector, number 0.
verdict vector_that_is_not_there()
{
    probe one;
    ibv_cq *made =
        ibv_create_cq(one.context(), 16, nullptr, nullptr, one.context()->num_comp_vectors);
    return made == nullptr && errno == EINVAL ? nullptr : "a CQ on a vector that is not there";
}

// For a fabric whose schedule takes the port down: who hears of it finds the file changed.
verdict port_file_before_event()
{
    probe one;
    ibv_async_event told{};
    do {
        if (ibv_get_async_event(one.context(), &told) != 0) {
            return "there is no event";
        }
        ibv_ack_async_event(&told);
    } while (told.event_type != IBV_EVENT_PORT_ERR);
    FILE *file = ::fopen("/sys/class/infiniband/mlx5_0/ports/1/state", "r");
    char text[16] = {};
    bool read = file != nullptr && ::fgets(text, sizeof(text), file) != nullptr;
    if (file != nullptr) {
        ::fclose(file);
    }
    return read && std::strcmp(text, "1: DOWN\n") == 0 ? nullptr : "the file has the old state";
}

} // namespace

const std::array<probe_case, 1> scheduled_cases = {{
    {"port-file-before-event", port_file_before_event},
}};

const std::array<probe_case, 8> descriptor_cases = {{
    {"dup2-over-a-device", dup2_over_a_device},
    {"dup3-over-a-device", dup3_over_a_device},
    {"close-range-of-a-device", close_range_of_a_device},
    {"fclose-of-a-device", fclose_of_a_device},
    {"vfork-and-close", vfork_and_close},
    {"fork-and-close", fork_and_close},
    {"open-and-close", open_and_close},
    {"vector-that-is-not-there", vector_that_is_not_there},
}};

} // namespace ufx::test
