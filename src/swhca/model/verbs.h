// SPDX-License-Identifier: BSD-3-Clause
// The commands of a device, as the kernel would answer them: each returns 0 or an errno. A handle
// belongs to the context that made it; any other is ENOENT, as is one that is gone.
#ifndef UFX_SWHCA_MODEL_VERBS_H
#define UFX_SWHCA_MODEL_VERBS_H

#include "core.h"

#include <cstdint>

namespace ufx::swhca {

// Opens device `hca`; asynchronous events go to `async_fd`, the write end of a pipe.
[[nodiscard]] int open_context(core &world, uint32_t hca, int async_fd, uint32_t &context_index);
// Destroys all that was made on it.
void close_context(core &world, uint32_t context_index);

[[nodiscard]] int alloc_pd(core &world, uint32_t context_index, uint32_t &handle);
[[nodiscard]] int dealloc_pd(core &world, uint32_t context_index, uint32_t handle);

struct mr_request {
    uint32_t pd;
    uint32_t access;
    uint64_t start;
    uint64_t length;
    uint64_t iova;
};
[[nodiscard]] int register_mr(core &world, uint32_t context_index, const mr_request &want,
                              uint32_t &handle, uint32_t &key);
// What it is now, and what it becomes, with the same key.
[[nodiscard]] int describe_mr(core &world, uint32_t context_index, uint32_t handle, mr_request &out,
                              uint32_t &key);
[[nodiscard]] int change_mr(core &world, uint32_t context_index, uint32_t handle,
                            const mr_request &want);
[[nodiscard]] int deregister_mr(core &world, uint32_t context_index, uint32_t handle);

// What the kernel says of a path that leaves by this port: 0, or an errno.
[[nodiscard]] int check_path(const port &from, const path &to) noexcept;

[[nodiscard]] uint32_t pkey_count(const port &one) noexcept;

[[nodiscard]] int create_ah(core &world, uint32_t context_index, const path &to, uint32_t &handle);

[[nodiscard]] int create_channel(core &world, uint32_t context_index, int write_fd,
                                 uint32_t &handle);
void destroy_channel(core &world, uint32_t handle);

struct cq_request {
    uint32_t entries; // a power of two
    uint32_t cqe_bytes;
    uint32_t channel; // or no_index
    bool ignore_overrun;
    uint64_t buffer;
    uint64_t doorbell;
    uint64_t user_handle;
};
[[nodiscard]] int create_cq(core &world, uint32_t context_index, const cq_request &want,
                            uint32_t &handle);
inline constexpr uint32_t max_cq_count = 0xffff;
inline constexpr uint32_t max_cq_period_us = 0xfff;
// An event that is asked for waits until `count` completions have come (0: any number), but not
// longer than `period_us` after the first of them; with a period of 0 it does not wait.
[[nodiscard]] int moderate_cq(core &world, uint32_t context_index, uint32_t handle, uint32_t count,
                              uint32_t period_us);
// Those that destroy tell of the events that were raised: see events_reported().
[[nodiscard]] int destroy_cq(core &world, uint32_t context_index, uint32_t handle,
                             event_count &completion_events, event_count &async_events);

struct srq_request {
    uint32_t pd;
    uint32_t max_wr;
    uint32_t max_sge;
    uint32_t limit;
    uint64_t buffer;
    uint64_t doorbell;
    uint64_t user_handle;
    uint32_t uidx;
};
// Writes what was granted back into `want`.
[[nodiscard]] int create_srq(core &world, uint32_t context_index, srq_request &want,
                             uint32_t &handle);
[[nodiscard]] int set_srq_limit(core &world, uint32_t context_index, uint32_t handle,
                                uint32_t limit);
[[nodiscard]] int query_srq(core &world, uint32_t context_index, uint32_t handle, srq &out);
[[nodiscard]] int destroy_srq(core &world, uint32_t context_index, uint32_t handle,
                              event_count &async_events);

struct qp_request {
    uint8_t type;
    bool sq_signal_all;
    bool scatter_to_cqe;       // small data in CQEs, if the device has it
    bool allow_scatter_to_cqe; // of reads and atomics too, though not all are signaled
    uint32_t pd;
    uint32_t send_cq;
    uint32_t recv_cq;
    uint32_t srq; // or no_index
    uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline;
    uint32_t sq_blocks;
    uint32_t rq_size;
    uint32_t rq_shift;
    uint32_t uidx;
    uint64_t buffer;
    uint64_t doorbell;
    uint64_t user_handle;
};
[[nodiscard]] int create_qp(core &world, uint32_t context_index, const qp_request &want,
                            uint32_t &handle, uint32_t &qpn);
// `mask` has IBV_QP_* bits; `state` counts if IBV_QP_STATE is among them, else it stays.
[[nodiscard]] int modify_qp(core &world, uint32_t context_index, uint32_t handle, uint32_t mask,
                            uint8_t state, const qp_attributes &attr);
// `out` has the true PSNs, also in ERR.
[[nodiscard]] int query_qp(core &world, uint32_t context_index, uint32_t handle, uint8_t &state,
                           qp_attributes &out);
[[nodiscard]] int destroy_qp(core &world, uint32_t context_index, uint32_t handle,
                             event_count &async_events);

} // namespace ufx::swhca

#endif
