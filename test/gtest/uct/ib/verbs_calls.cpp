// SPDX-License-Identifier: BSD-3-Clause
// Stands between the transports and libibverbs: the program's symbols come before the library's.
#include "verbs_calls.h"

#include <ufx/version.h>

#include <infiniband/mlx5dv.h>

#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <mutex>
#include <utility>

namespace ufx::test {

namespace {

// Also the thread that reads events calls.
std::mutex guard;
std::string failing; // which call; empty: none
int error_given = 0;
int skip_left = 0;
int count_left = 0;
int hit_count = 0;
std::function<void(ibv_device_attr &)> change_device;
devx_answer::function answer_devx;
std::vector<ibv_cq *> cqs;
event_reads reads;
bool interrupt_read = false;
bool netdevs_hidden = false;
std::function<void(ibv_async_event &)> change_event;
int changes_left = 0;
int foreign_cq_errors = 0; // CQ_ERR that were made of another event and not acknowledged

// 0: this one does not fail.
int failure_of_next(const char *name)
{
    const std::lock_guard lock(guard);
    if (failing != name || count_left == 0) {
        return 0;
    }
    if (skip_left > 0) {
        skip_left--;
        return 0;
    }
    count_left--;
    hit_count++;
    return error_given;
}

template <class F>
F *real(const char *name)
{
    return reinterpret_cast<F *>(::dlsym(RTLD_NEXT, name));
}

// Calls that give a pointer set errno; those that give an int return it.
template <class F, class... Args>
auto pass(const char *name, F *, Args... args) -> decltype(real<F>(name)(args...))
{
    using result = decltype(real<F>(name)(args...));
    if (const int error = failure_of_next(name); error != 0) {
        errno = error;
        if constexpr (std::is_pointer_v<result>) {
            return nullptr;
        } else {
            return error;
        }
    }
    return real<F>(name)(args...);
}

} // namespace

failing_call::failing_call(const std::string &name, int error, int skip, int count)
{
    const std::lock_guard lock(guard);
    failing = name;
    error_given = error;
    skip_left = skip;
    count_left = count;
    hit_count = 0;
}

failing_call::~failing_call()
{
    const std::lock_guard lock(guard);
    failing.clear();
}

int failing_call::hits() const
{
    const std::lock_guard lock(guard);
    return hit_count;
}

const std::vector<std::string> &verbs_calls()
{
    static const std::vector<std::string> all = {
        "ibv_query_device", "ibv_alloc_pd",     "ibv_create_comp_channel", "ibv_create_cq",
        "ibv_create_srq",   "ibv_reg_mr_iova2", "mlx5dv_create_qp",        "ibv_modify_qp",
        "ibv_query_qp",     "ibv_destroy_qp"};
    return all;
}

const std::vector<ibv_cq *> &created_cqs()
{
    return cqs;
}

event_reads count_event_reads()
{
    const std::lock_guard lock(guard);
    return reads;
}

void hide_netdevs(bool hidden)
{
    const std::lock_guard lock(guard);
    netdevs_hidden = hidden;
}

void interrupt_next_event_read()
{
    const std::lock_guard lock(guard);
    interrupt_read = true;
}

void change_next_event(int count, std::function<void(ibv_async_event &)> change)
{
    const std::lock_guard lock(guard);
    changes_left = count;
    change_event = std::move(change);
}

changed_device::changed_device(std::function<void(ibv_device_attr &)> change)
{
    const std::lock_guard lock(guard);
    change_device = std::move(change);
}

changed_device::~changed_device()
{
    const std::lock_guard lock(guard);
    change_device = nullptr;
}

devx_answer::devx_answer(function answer)
{
    const std::lock_guard lock(guard);
    answer_devx = std::move(answer);
}

devx_answer::~devx_answer()
{
    const std::lock_guard lock(guard);
    answer_devx = nullptr;
}

} // namespace ufx::test

using namespace ufx::test;

extern "C" {

UFX_API int ibv_query_device(ibv_context *context, ibv_device_attr *attr)
{
    const int error = pass("ibv_query_device", ibv_query_device, context, attr);
    const std::lock_guard lock(guard);
    if (error == 0 && change_device) {
        change_device(*attr);
    }
    return error;
}

UFX_API int _ibv_query_gid_ex(ibv_context *context, uint32_t port, uint32_t index,
                              ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    const int error =
        pass("_ibv_query_gid_ex", _ibv_query_gid_ex, context, port, index, entry, flags, size);
    const std::lock_guard lock(guard);
    if (error == 0 && netdevs_hidden) {
        entry->ndev_ifindex = 0;
    }
    return error;
}

UFX_API ibv_pd *ibv_alloc_pd(ibv_context *context)
{
    return pass("ibv_alloc_pd", ibv_alloc_pd, context);
}

UFX_API ibv_comp_channel *ibv_create_comp_channel(ibv_context *context)
{
    return pass("ibv_create_comp_channel", ibv_create_comp_channel, context);
}

UFX_API ibv_cq *ibv_create_cq(ibv_context *context, int cqe, void *cq_context,
                              ibv_comp_channel *channel, int vector)
{
    ibv_cq *made = pass("ibv_create_cq", ibv_create_cq, context, cqe, cq_context, channel, vector);
    cqs.push_back(made);
    return made;
}

UFX_API ibv_srq *ibv_create_srq(ibv_pd *pd, ibv_srq_init_attr *attr)
{
    return pass("ibv_create_srq", ibv_create_srq, pd, attr);
}

UFX_API ibv_mr *ibv_reg_mr_iova2(ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                 unsigned access)
{
    return pass("ibv_reg_mr_iova2", ibv_reg_mr_iova2, pd, address, length, iova, access);
}

UFX_API ibv_qp *mlx5dv_create_qp(ibv_context *context, ibv_qp_init_attr_ex *init,
                                 mlx5dv_qp_init_attr *device)
{
    return pass("mlx5dv_create_qp", mlx5dv_create_qp, context, init, device);
}

UFX_API int mlx5dv_devx_general_cmd(ibv_context *context, const void *in, size_t in_length,
                                    void *out, size_t out_length)
{
    {
        const std::lock_guard lock(guard);
        if (answer_devx) {
            return answer_devx(static_cast<const uint8_t *>(in), static_cast<uint8_t *>(out),
                               out_length);
        }
    }
    return real<decltype(mlx5dv_devx_general_cmd)>("mlx5dv_devx_general_cmd")(
        context, in, in_length, out, out_length);
}

UFX_API int ibv_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask)
{
    return pass("ibv_modify_qp", ibv_modify_qp, qp, attr, mask);
}

UFX_API int ibv_query_qp(ibv_qp *qp, ibv_qp_attr *attr, int mask, ibv_qp_init_attr *init)
{
    return pass("ibv_query_qp", ibv_query_qp, qp, attr, mask, init);
}

UFX_API int ibv_get_async_event(ibv_context *context, ibv_async_event *event)
{
    const std::lock_guard lock(guard);
    if (std::exchange(interrupt_read, false)) {
        errno = EINTR;
        return -1;
    }
    const int status = real<decltype(ibv_get_async_event)>("ibv_get_async_event")(context, event);
    if (status != 0) {
        reads.found_none += errno == EAGAIN ? 1 : 0;
        return status;
    }
    reads.got++;
    if (changes_left > 0) {
        changes_left--;
        change_event(*event);
        foreign_cq_errors += event->event_type == IBV_EVENT_CQ_ERR ? 1 : 0;
    }
    return status;
}

UFX_API void ibv_ack_async_event(ibv_async_event *event)
{
    {
        const std::lock_guard lock(guard);
        reads.acknowledged++;
        if (event->event_type == IBV_EVENT_CQ_ERR && foreign_cq_errors > 0) {
            foreign_cq_errors--;
            return; // was an event of the device, which nobody counts
        }
    }
    real<decltype(ibv_ack_async_event)>("ibv_ack_async_event")(event);
}

UFX_API int ibv_destroy_qp(ibv_qp *qp)
{
    return pass("ibv_destroy_qp", ibv_destroy_qp, qp);
}
}
