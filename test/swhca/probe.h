// SPDX-License-Identifier: BSD-3-Clause
// probe: a verbs program that does by intent what an ordinary one does by accident. Each case
// is a function of its own; it returns what is wrong, or nullptr.
#ifndef UFX_TEST_SWHCA_PROBE_H
#define UFX_TEST_SWHCA_PROBE_H

#include <array>
#include <chrono>
#include <cstdint>
#include <infiniband/verbs.h>

namespace ufx::test {

using verdict = const char *;

// A device with a completion queue, and two QPs of it; connect() makes them peers.
class probe {
public:
    // Throws std::runtime_error with the call that failed.
    explicit probe(int hca = 0);
    ~probe();

    probe(const probe &) = delete;
    probe &operator=(const probe &) = delete;

    void connect_pair();
    // To a QP of the same or of another process.
    void connect(ibv_qp *one, uint32_t qpn, int hca = 0);
    [[nodiscard]] ibv_qp *make_qp() { return make_qp(queue_); }

    [[nodiscard]] ibv_qp *make_qp(ibv_cq *completes_on);

    [[nodiscard]] bool post_write(ibv_qp *from, uint64_t to, uint32_t rkey, uint32_t bytes = 8);
    [[nodiscard]] bool post_send(ibv_qp *from);
    [[nodiscard]] bool post_receive(ibv_qp *to);
    // The status of the next completion; -1 if there is none in time.
    [[nodiscard]] int wait() { return wait(queue_); }

    [[nodiscard]] static int wait(ibv_cq *of);
    // Writes from the first QP of the pair to the second; false unless it succeeds.
    [[nodiscard]] bool write();

    [[nodiscard]] uint64_t address() const { return reinterpret_cast<uintptr_t>(memory_.data()); }

    [[nodiscard]] uint32_t key() const { return region_->rkey; }

    [[nodiscard]] ibv_context *context() { return context_; }

    [[nodiscard]] ibv_pd *domain() { return domain_; }

    [[nodiscard]] ibv_cq *queue() { return queue_; }

    [[nodiscard]] ibv_comp_channel *channel() { return channel_; }

    [[nodiscard]] ibv_qp *first() { return pair_[0]; }

    [[nodiscard]] ibv_qp *second() { return pair_[1]; }

private:
    ibv_context *context_ = nullptr;
    ibv_pd *domain_ = nullptr;
    ibv_comp_channel *channel_ = nullptr;
    ibv_cq *queue_ = nullptr;
    ibv_mr *region_ = nullptr;
    std::array<ibv_qp *, 2> pair_{};
    alignas(64) std::array<uint8_t, 4096> memory_{};
};

// For loops that must end: true until so many seconds have passed since it was made.
class still {
public:
    explicit still(int seconds)
        : end_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds))
    {
    }

    explicit operator bool() const { return std::chrono::steady_clock::now() < end_; }

private:
    std::chrono::steady_clock::time_point end_;
};

// Waits for a child; its exit status, or 128 + signal, or -1 if it did not end in time (and is
// killed).
[[nodiscard]] int wait_for_child(int pid, int seconds = 20);

struct probe_case {
    const char *name;
    verdict (*run)();
};

extern const std::array<probe_case, 8> descriptor_cases;
extern const std::array<probe_case, 3> queue_cases;
extern const std::array<probe_case, 3> region_cases;
extern const std::array<probe_case, 1> scheduled_cases; // not for every fabric, so not listed
extern const std::array<probe_case, 9> signal_cases;
extern const std::array<probe_case, 4> thread_cases;

} // namespace ufx::test

#endif
