// SPDX-License-Identifier: BSD-3-Clause
// The calls of libibverbs that the transports make: one can be refused, and a device can be made to
// say that it can do less.
#ifndef UFX_TEST_UCT_IB_VERBS_CALLS_H
#define UFX_TEST_UCT_IB_VERBS_CALLS_H

#include <infiniband/verbs.h>

#include <functional>
#include <string>
#include <vector>

namespace ufx::test {

// While it lives, `count` calls of that function fail with this errno, after `skip` that do not.
// One at a time.
class failing_call {
public:
    failing_call(const std::string &name, int error, int skip = 0, int count = 1);
    ~failing_call();
    failing_call(const failing_call &) = delete;
    failing_call &operator=(const failing_call &) = delete;

    // Calls that failed.
    [[nodiscard]] int hits() const;
};

// The functions that can fail.
[[nodiscard]] const std::vector<std::string> &verbs_calls();

// Memory regions that were made, and those of them that are there.
struct region_count {
    int made;
    int there;
};
[[nodiscard]] region_count count_regions();

// Completion queues that were created, oldest first.
[[nodiscard]] const std::vector<ibv_cq *> &created_cqs();

// Counts what the readers of events do.
struct event_reads {
    int got = 0;
    int acknowledged = 0;
    int found_none = 0; // EAGAIN
};
[[nodiscard]] event_reads count_event_reads();

// How often a table of GIDs was read.
[[nodiscard]] int count_gid_table_reads();

// The next reading of an event is interrupted by a signal, so to speak.
void interrupt_next_event_read();

// The next `count` CLIENT_REREGISTER that are read become what `change` makes of them. (Others are
// counted by what they are about, which waits for their acknowledgement.)
void change_next_event(int count, std::function<void(ibv_async_event &)> change);

// While it lives, whoever acknowledges an event waits until `go` says so, at most 10 s. Any thread
// asks it.
class held_acknowledgements {
public:
    explicit held_acknowledgements(std::function<bool()> go);
    ~held_acknowledgements();
    held_acknowledgements(const held_acknowledgements &) = delete;
    held_acknowledgements &operator=(const held_acknowledgements &) = delete;

    // Somebody waits now.
    [[nodiscard]] static bool is_waited();
    // Nobody waited in vain.
    [[nodiscard]] bool in_time() const;
};

// Whether LAST_WQE_REACHED is another event, of which nobody makes anything.
void hide_last_wqe(bool hidden);

// Calls of ibv_destroy_qp, counted when they begin.
[[nodiscard]] int destroys_begun();

// The queue pair that went to RTS last.
[[nodiscard]] ibv_qp *last_connected();

// Whether GIDs name no network interface.
void hide_netdevs(bool hidden);
// The network interface that all GIDs name; 0: their own.
void set_netdev(unsigned index);

// While it lives, devices that are opened have what `change` makes of their attributes.
class changed_device {
public:
    explicit changed_device(std::function<void(ibv_device_attr &)> change);
    ~changed_device();
    changed_device(const changed_device &) = delete;
    changed_device &operator=(const changed_device &) = delete;
};

// While it lives, `answer(command, answer, bytes)` takes the place of commands to an mlx5 device by
// DEVX; it gives an errno.
class devx_answer {
public:
    using function = std::function<int(const uint8_t *, uint8_t *, size_t)>;

    explicit devx_answer(function answer);
    ~devx_answer();
    devx_answer(const devx_answer &) = delete;
    devx_answer &operator=(const devx_answer &) = delete;
};

} // namespace ufx::test

#endif
