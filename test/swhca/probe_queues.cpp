// SPDX-License-Identifier: BSD-3-Clause
// Cases of the probe with completion queues of other kinds: large entries, and the time of day.
#include "probe.h"

#include <algorithm>
#include <ctime>
#include <infiniband/mlx5dv.h>

namespace ufx::test {

namespace {

constexpr uint64_t ns_per_s = 1'000'000'000;

uint64_t time_of_day_ns()
{
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * ns_per_s + static_cast<uint64_t>(now.tv_nsec);
}

ibv_cq_init_attr_ex attributes(uint64_t flags)
{
    ibv_cq_init_attr_ex want{};
    want.cqe = 64;
    want.wc_flags = IBV_WC_STANDARD_FLAGS | flags;
    return want;
}

// Two QPs that complete on a queue of their own.
class other_pair {
public:
    other_pair(probe &of, ibv_cq_ex *queue)
        : of_(of), queue_(ibv_cq_ex_to_cq(queue)), first_(of.make_qp(queue_)),
          second_(of.make_qp(queue_))
    {
        of.connect(first_, second_->qp_num);
        of.connect(second_, first_->qp_num);
    }

    ~other_pair()
    {
        ibv_destroy_qp(first_);
        ibv_destroy_qp(second_);
        ibv_destroy_cq(queue_);
    }

    other_pair(const other_pair &) = delete;
    other_pair &operator=(const other_pair &) = delete;

    [[nodiscard]] bool post() { return of_.post_receive(second_) && of_.post_send(first_); }

    [[nodiscard]] int wait() { return probe::wait(queue_); }

private:
    probe &of_;
    ibv_cq *queue_;
    ibv_qp *first_;
    ibv_qp *second_;
};

verdict large_entries()
{
    probe one;
    ibv_cq_init_attr_ex want = attributes(0);
    mlx5dv_cq_init_attr more{};
    more.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
    more.cqe_size = 128;
    ibv_cq_ex *queue = mlx5dv_create_cq(one.context(), &want, &more);
    if (queue == nullptr) {
        return "there is no queue with entries of 128 bytes";
    }
    mlx5dv_cq inside{};
    mlx5dv_obj which{};
    which.cq = {ibv_cq_ex_to_cq(queue), &inside};
    if (mlx5dv_init_obj(&which, MLX5DV_OBJ_CQ) != 0 || inside.cqe_size != 128) {
        return "its entries have another size";
    }
    other_pair on(one, queue);
    constexpr int rounds = 100; // around the queue
    for (int i = 0; i < rounds; i++) {
        if (!on.post() || on.wait() != IBV_WC_SUCCESS || on.wait() != IBV_WC_SUCCESS) {
            return "a completion of 128 bytes did not come";
        }
    }
    return nullptr;
}

verdict time_of_day()
{
    probe one;
    mlx5dv_clock_info clock{};
    if (mlx5dv_get_clock_info(one.context(), &clock) != 0) {
        return "the device has no clock";
    }
    ibv_cq_init_attr_ex want = attributes(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
    ibv_cq_ex *queue = ibv_create_cq_ex(one.context(), &want);
    if (queue == nullptr) {
        return "there is no queue that tells the time of day";
    }
    other_pair on(one, queue);
    constexpr uint64_t slack_ns = ns_per_s / 100; // for a clock that is being set
    uint64_t before_ns = time_of_day_ns();
    if (!on.post()) {
        return "a send could not be posted";
    }
    ibv_poll_cq_attr none{};
    still going(20);
    while (going && ibv_start_poll(queue, &none) != 0) {
    }
    uint64_t told_ns = ibv_wc_read_completion_wallclock_ns(queue);
    ibv_end_poll(queue);
    bool right = told_ns + slack_ns >= before_ns && told_ns <= time_of_day_ns() + slack_ns;
    return right ? nullptr : "a completion tells another time of day";
}

// How long an event waits is tested where the clock stands still.
verdict moderated_events()
{
    probe one;
    one.connect_pair();
    ibv_device_attr_ex can{};
    if (ibv_query_device_ex(one.context(), nullptr, &can) != 0 ||
        can.cq_mod_caps.max_cq_count == 0 || can.cq_mod_caps.max_cq_period == 0) {
        return "the device moderates no events";
    }
    ibv_modify_cq_attr want{};
    want.attr_mask = IBV_CQ_ATTR_MODERATE;
    want.moderate.cq_count = 10;
    want.moderate.cq_period = can.cq_mod_caps.max_cq_period;
    if (ibv_modify_cq(one.queue(), &want) != 0) {
        return "events could not be moderated";
    }
    if (ibv_req_notify_cq(one.queue(), 0) != 0 || !one.write()) {
        return "nothing could be written";
    }
    ibv_cq *told = nullptr;
    void *context = nullptr;
    if (ibv_get_cq_event(one.channel(), &told, &context) != 0 || told != one.queue()) {
        return "the event of fewer completions never came";
    }
    ibv_ack_cq_events(one.queue(), 1);
    want.moderate.cq_period = static_cast<uint16_t>(can.cq_mod_caps.max_cq_period + 1);
    return ibv_modify_cq(one.queue(), &want) != 0 ? nullptr
                                                  : "a period beyond the longest is taken";
}

} // namespace

const std::array<probe_case, 3> queue_cases = {{
    {"large-entries", large_entries},
    {"moderated-events", moderated_events},
    {"time-of-day", time_of_day},
}};

} // namespace ufx::test
