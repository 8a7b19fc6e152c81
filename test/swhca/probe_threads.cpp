// SPDX-License-Identifier: BSD-3-Clause
// Cases of the probe with several threads.
#include "probe.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace ufx::test {

namespace {

struct greeting {
    uint32_t qpn;
    uint32_t rkey;
    uint64_t address;
};

// The peer: its completion queue is armed, so that whoever delivers writes into its channel, which
// means opening and closing a descriptor of this process.
[[noreturn]] void be_armed(int line)
{
    probe one;
    greeting mine{one.first()->qp_num, one.key(), one.address()};
    greeting theirs{};
    (void)!::write(line, &mine, sizeof(mine));
    (void)!::read(line, &theirs, sizeof(theirs));
    one.connect(one.first(), theirs.qpn);
    constexpr int credits = 16;
    for (int i = 0; i < credits; i++) {
        (void)one.post_receive(one.first());
    }
    (void)ibv_req_notify_cq(one.queue(), 0);
    (void)!::write(line, &mine, 1);
    for (;;) {
        ibv_cq *which = nullptr;
        void *context = nullptr;
        ibv_wc done{};
        if (ibv_get_cq_event(one.channel(), &which, &context) != 0) {
            ::_exit(1);
        }
        ibv_ack_cq_events(which, 1);
        (void)ibv_req_notify_cq(which, 0);
        while (ibv_poll_cq(which, 1, &done) > 0) {
            if (done.status != IBV_WC_SUCCESS) {
                ::_exit(0);
            }
            (void)one.post_receive(one.first());
        }
    }
}

enum class first_thread : uint8_t { STAYS, ENDS };

// Sends to such a peer while `meanwhile` runs with the device; what is wrong.
template <class Meanwhile>
verdict send_to_armed(first_thread of_peer, int sends, Meanwhile meanwhile)
{
    int line[2];
    (void)::socketpair(AF_UNIX, SOCK_STREAM, 0, line);
    int child = ::fork();
    if (child == 0 && of_peer == first_thread::ENDS) {
        std::thread([number = line[1]] { be_armed(number); }).detach();
        ::pthread_exit(nullptr);
    }
    if (child == 0) {
        be_armed(line[1]);
    }
    probe one;
    greeting theirs{};
    char ready = 0;
    (void)!::read(line[0], &theirs, sizeof(theirs));
    one.connect(one.first(), theirs.qpn);
    greeting mine{one.first()->qp_num, one.key(), one.address()};
    (void)!::write(line[0], &mine, sizeof(mine));
    (void)!::read(line[0], &ready, 1);
    std::atomic<bool> stop{false};
    std::thread other([&] { meanwhile(one, stop); });
    int status = IBV_WC_SUCCESS;
    for (int i = 0; i < sends && status == IBV_WC_SUCCESS; i++) {
        status = one.post_send(one.first()) ? one.wait() : -1;
    }
    stop.store(true);
    other.join();
    ::kill(child, SIGKILL);
    (void)wait_for_child(child);
    return status == IBV_WC_SUCCESS ? nullptr : "a send did not complete";
}

// A pass closes descriptors while it holds the lock of the fabric; a command takes the locks the
// other way round.
verdict closes_while_commands()
{
    constexpr int sends = 500;
    return send_to_armed(first_thread::STAYS, sends, [](probe &one, std::atomic<bool> &stop) {
        ibv_port_attr port{};
        ibv_qp_attr state{};
        ibv_qp_init_attr caps{};
        while (!stop.load(std::memory_order_relaxed)) {
            (void)ibv_query_port(one.context(), 1, &port);
            (void)ibv_query_qp(one.second(), &state, IBV_QP_STATE, &caps);
        }
    });
}

// The process lives on, but by its pid nobody reaches its memory or its descriptors any more.
verdict first_thread_ends()
{
    constexpr int sends = 50;
    return send_to_armed(first_thread::ENDS, sends, [](probe &, std::atomic<bool> &) {});
}

// The helper of the engine does not keep the process.
verdict last_thread_ends()
{
    int child = ::fork();
    if (child == 0) {
        probe one;
        ::pthread_exit(nullptr);
    }
    return wait_for_child(child) == 0 ? nullptr : "the process did not end with its last thread";
}

verdict small_stack()
{
    probe one;
    one.connect_pair();
    bool well = false;
    struct task {
        probe &one;
        bool &well;
    } what{one, well};
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    constexpr size_t stack_bytes = 20480;
    (void)::pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    int status = ::pthread_create(
        &thread, &attributes,
        [](void *argument) -> void * {
            auto &mine = *static_cast<task *>(argument);
            mine.well = mine.one.write();
            return nullptr;
        },
        &what);
    ::pthread_attr_destroy(&attributes);
    if (status == 0) {
        (void)::pthread_join(thread, nullptr);
    }
    return well ? nullptr : "a thread with a small stack could not write";
}

} // namespace

const std::array<probe_case, 4> thread_cases = {{
    {"last-thread-ends", last_thread_ends},
    {"small-stack", small_stack},
    {"closes-while-commands", closes_while_commands},
    {"first-thread-ends", first_thread_ends},
}};

} // namespace ufx::test
