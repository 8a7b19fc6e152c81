// SPDX-License-Identifier: BSD-3-Clause
// Stands between the transports and libibverbs: the program's symbols come before the library's.
#include "verbs_calls.h"

#include <ufx/version.h>

#include <infiniband/mlx5dv.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <dlfcn.h>
#include <mutex>
#include <thread>
#include <utility>

namespace ufx::test {

namespace {

// Also the thread that reads events calls.
std::mutex guard;
std::atomic<bool> something_fails = false;
std::string failing; // which call
int error_given = 0;
int skip_left = 0;
int count_left = 0;
int hit_count = 0;
std::function<void(ibv_device_attr &)> change_device;
devx_answer::function answer_devx;
std::vector<ibv_cq *> cqs;
region_count regions{};
event_reads reads;
std::atomic<int> gid_table_reads = 0;
bool interrupt_read = false;
bool netdevs_hidden = false;
unsigned netdev_given = 0;
std::function<void(ibv_async_event &)> change_event;
int changes_left = 0;
std::function<bool()> may_acknowledge; // empty: always
std::atomic<bool> acknowledger_waits = false;
std::atomic<bool> waited_in_vain = false;
std::atomic<bool> last_wqe_hidden = false;
std::atomic<int> destroys = 0;
std::atomic<ibv_qp *> connected_last = nullptr;
// What libibverbs calls through a table of the device, which has no symbol: the table's own ones.
struct {
    decltype(ibv_context_ops::post_send) post_send;
    decltype(ibv_context_ops::post_srq_recv) post_srq_recv;
    decltype(ibv_context_ops::req_notify_cq) req_notify_cq;
    decltype(ibv_context_ops::poll_cq) poll_cq;
    decltype(verbs_context::query_port) query_port;
    decltype(verbs_context::create_qp_ex) create_qp_ex;
} device_calls;
int foreign_cq_errors = 0; // CQ_ERR that were made of another event and not acknowledged

// 0: this one does not fail.
int failure_of_next(const char *name)
{
    if (!something_fails) {
        return 0;
    }
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

int post_send(ibv_qp *qp, ibv_send_wr *wr, ibv_send_wr **bad)
{
    const int error = failure_of_next("ibv_post_send");
    return error != 0 ? error : device_calls.post_send(qp, wr, bad);
}

int post_srq_recv(ibv_srq *srq, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
    const int error = failure_of_next("ibv_post_srq_recv");
    return error != 0 ? error : device_calls.post_srq_recv(srq, wr, bad);
}

int req_notify_cq(ibv_cq *cq, int solicited)
{
    const int error = failure_of_next("ibv_req_notify_cq");
    return error != 0 ? error : device_calls.req_notify_cq(cq, solicited);
}

int poll_cq(ibv_cq *cq, int count, ibv_wc *wc)
{
    return failure_of_next("ibv_poll_cq") != 0 ? -1 : device_calls.poll_cq(cq, count, wc);
}

int query_port(ibv_context *context, uint8_t port, ibv_port_attr *attr, size_t size)
{
    const int error = failure_of_next("ibv_query_port");
    return error != 0 ? error : device_calls.query_port(context, port, attr, size);
}

ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *init)
{
    if (const int error = failure_of_next("ibv_create_qp_ex"); error != 0) {
        errno = error;
        return nullptr;
    }
    return device_calls.create_qp_ex(context, init);
}

// All devices have the same ones; nobody uses this one yet.
void take_calls_of(ibv_context *opened)
{
    const std::lock_guard lock(guard);
    auto *more = verbs_get_ctx(opened);
    device_calls = {opened->ops.post_send, opened->ops.post_srq_recv, opened->ops.req_notify_cq,
                    opened->ops.poll_cq,   more->query_port,          more->create_qp_ex};
    opened->ops.post_send = post_send;
    opened->ops.post_srq_recv = post_srq_recv;
    opened->ops.req_notify_cq = req_notify_cq;
    opened->ops.poll_cq = poll_cq;
    more->query_port = query_port;
    more->create_qp_ex = create_qp_ex;
}

template <class F>
F *real(const char *name)
{
    return reinterpret_cast<F *>(::dlsym(RTLD_NEXT, name));
}

void wait_to_acknowledge()
{
    std::function<bool()> go;
    {
        const std::lock_guard lock(guard);
        go = may_acknowledge;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    acknowledger_waits = go != nullptr;
    while (go && !go()) {
        if (std::chrono::steady_clock::now() > end) {
            waited_in_vain = true;
            break;
        }
        std::this_thread::yield();
    }
    acknowledger_waits = false;
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
    something_fails = true;
}

failing_call::~failing_call()
{
    const std::lock_guard lock(guard);
    something_fails = false;
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
        "ibv_open_device",  "ibv_query_device",  "ibv_alloc_pd",     "ibv_create_comp_channel",
        "ibv_create_cq",    "ibv_create_srq",    "ibv_reg_mr_iova2", "mlx5dv_create_qp",
        "ibv_create_qp_ex", "mlx5dv_init_obj",   "ibv_modify_qp",    "ibv_query_qp",
        "ibv_query_port",   "ibv_post_srq_recv", "ibv_post_send",    "ibv_req_notify_cq",
        "ibv_destroy_qp"};
    return all;
}

const std::vector<ibv_cq *> &created_cqs()
{
    return cqs;
}

region_count count_regions()
{
    const std::lock_guard lock(guard);
    return regions;
}

event_reads count_event_reads()
{
    const std::lock_guard lock(guard);
    return reads;
}

int count_gid_table_reads()
{
    return gid_table_reads;
}

held_acknowledgements::held_acknowledgements(std::function<bool()> go)
{
    const std::lock_guard lock(guard);
    may_acknowledge = std::move(go);
    waited_in_vain = false;
}

held_acknowledgements::~held_acknowledgements()
{
    const std::lock_guard lock(guard);
    may_acknowledge = nullptr;
}

bool held_acknowledgements::is_waited()
{
    return acknowledger_waits;
}

bool held_acknowledgements::in_time() const
{
    return !waited_in_vain;
}

void hide_last_wqe(bool hidden)
{
    last_wqe_hidden = hidden;
}

int destroys_begun()
{
    return destroys;
}

ibv_qp *last_connected()
{
    return connected_last;
}

void set_netdev(unsigned index)
{
    const std::lock_guard lock(guard);
    netdev_given = index;
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

UFX_API ibv_context *ibv_open_device(ibv_device *device)
{
    ibv_context *opened = pass("ibv_open_device", ibv_open_device, device);
    if (opened != nullptr) {
        take_calls_of(opened);
    }
    return opened;
}

UFX_API int mlx5dv_init_obj(mlx5dv_obj *object, uint64_t type)
{
    return pass("mlx5dv_init_obj", mlx5dv_init_obj, object, type);
}

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
    gid_table_reads += index == 0 ? 1 : 0;
    const int error =
        pass("_ibv_query_gid_ex", _ibv_query_gid_ex, context, port, index, entry, flags, size);
    const std::lock_guard lock(guard);
    if (error == 0 && (netdevs_hidden || netdev_given != 0)) {
        entry->ndev_ifindex = netdevs_hidden ? 0 : netdev_given;
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
    ibv_mr *made = pass("ibv_reg_mr_iova2", ibv_reg_mr_iova2, pd, address, length, iova, access);
    const std::lock_guard lock(guard);
    regions.made += made != nullptr ? 1 : 0;
    regions.there += made != nullptr ? 1 : 0;
    return made;
}

UFX_API int ibv_dereg_mr(ibv_mr *mr)
{
    {
        const std::lock_guard lock(guard);
        regions.there--;
    }
    return real<decltype(ibv_dereg_mr)>("ibv_dereg_mr")(mr);
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
    if ((mask & IBV_QP_TIMEOUT) != 0) {
        connected_last = qp;
    }
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
    if (last_wqe_hidden && event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED) {
        event->event_type = IBV_EVENT_COMM_EST; // of the queue pair too, so it is counted
    }
    if (changes_left > 0 && event->event_type == IBV_EVENT_CLIENT_REREGISTER) {
        changes_left--;
        change_event(*event);
        foreign_cq_errors += event->event_type == IBV_EVENT_CQ_ERR ? 1 : 0;
    }
    return status;
}

UFX_API void ibv_ack_async_event(ibv_async_event *event)
{
    wait_to_acknowledge();
    {
        const std::lock_guard lock(guard);
        reads.acknowledged++;
        if (event->event_type == IBV_EVENT_CQ_ERR && foreign_cq_errors > 0) {
            foreign_cq_errors--;
            return; // was an event of the device, which nobody counts
        }
    }
    real<decltype(ibv_ack_async_event)>("ibv_ack_async_event")(event);
    *event = {}; // what it was about may be gone: whoever looks there now finds nothing
}

UFX_API int ibv_destroy_qp(ibv_qp *qp)
{
    destroys++;
    return pass("ibv_destroy_qp", ibv_destroy_qp, qp);
}
}
