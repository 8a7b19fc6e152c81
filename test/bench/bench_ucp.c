/* SPDX-License-Identifier: BSD-3-Clause
 * Posts one kind of ucp operation N times on an ep to the own worker, for instruction counts:
 * bench_ucp OP N.
 */
#include "bench_main.h"

#include <ufx/ucp.h>

enum { SHORT_BYTES = 8, LONG_BYTES = 4096, AM_ID = 3 };

/* All that one benchmark needs. */
struct bench {
    ufx_ucp_context_h context;
    ufx_ucp_worker_h worker;
    ufx_ucp_ep_h ep;
    ufx_ucp_mem_h mem;
    ufx_ucp_rkey_h rkey;
    uint64_t target[LONG_BYTES / sizeof(uint64_t)];
    uint64_t local[LONG_BYTES / sizeof(uint64_t)];
};

static struct bench bench;

static void on_done(void *arg, ufx_ucp_request_h request, const ufx_ucp_completion_t *completion)
{
    (void)arg, (void)request;
    bench_check(completion->status, "completion");
    ++bench_done;
}

static ufx_status_t on_message(void *arg, const ufx_ucp_am_t *am)
{
    (void)arg, (void)am;
    return UFX_OK;
}

static const ufx_ucp_op_params_t *params(void)
{
    static ufx_ucp_op_params_t with_callback = {
        .field_mask = UFX_UCP_OP_PARAM_CB | UFX_UCP_OP_PARAM_MEM,
        .cb = on_done,
    };
    with_callback.mem = bench.mem;
    return &with_callback;
}

static ufx_status_t progress(void)
{
    ++bench_done;
    return UFX_OK;
}

static ufx_status_t put(size_t length)
{
    return ufx_ucp_put(bench.ep, bench.local, length, (uintptr_t)bench.target, bench.rkey, params(),
                       NULL);
}

static ufx_status_t get(size_t length)
{
    return ufx_ucp_get(bench.ep, bench.local, length, (uintptr_t)bench.target, bench.rkey, params(),
                       NULL);
}

static ufx_status_t am(size_t length)
{
    return ufx_ucp_am_send(bench.ep, AM_ID, NULL, 0, bench.local, length, params(), NULL);
}

static ufx_status_t put_8(void)
{
    return put(SHORT_BYTES);
}
static ufx_status_t put_4k(void)
{
    return put(LONG_BYTES);
}
static ufx_status_t get_8(void)
{
    return get(SHORT_BYTES);
}
static ufx_status_t get_4k(void)
{
    return get(LONG_BYTES);
}
static ufx_status_t am_8(void)
{
    return am(SHORT_BYTES);
}
static ufx_status_t am_4k(void)
{
    return am(LONG_BYTES);
}

static ufx_status_t fadd(void)
{
    return ufx_ucp_atomic(bench.ep, UFX_UCP_ATOMIC_ADD, 1, 0, sizeof(uint64_t), bench.local,
                          (uintptr_t)bench.target, bench.rkey, params(), NULL);
}

static const struct bench_operation operations[] = {
    {"ucp_progress", progress, 1},       {"ucp_put_8", put_8, BENCH_BURST},
    {"ucp_put_4k", put_4k, BENCH_BURST}, {"ucp_get_8", get_8, BENCH_BURST},
    {"ucp_get_4k", get_4k, BENCH_BURST}, {"ucp_am_8", am_8, BENCH_BURST},
    {"ucp_am_4k", am_4k, BENCH_BURST},   {"ucp_fadd", fadd, BENCH_BURST},
};

static void open_all(void)
{
    const ufx_ucp_context_params_t on_loopback = {
        .field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES,
        .devices = "lo:127.0.0.1",
    };
    bench_check(ufx_ucp_context_create(&on_loopback, &bench.context), "context_create");
    bench_check(ufx_ucp_worker_create(bench.context, NULL, &bench.worker), "worker_create");
    bench_check(ufx_ucp_worker_set_am_handler(bench.worker, AM_ID, on_message, NULL),
                "set_am_handler");

    void *bytes;
    size_t length;
    bench_check(ufx_ucp_worker_get_address(bench.worker, &bytes, &length), "get_address");
    const ufx_ucp_ep_params_t to_own_worker = {
        .field_mask = UFX_UCP_EP_PARAM_ADDRESS,
        .address = bytes,
        .address_length = length,
    };
    bench_check(ufx_ucp_ep_create(bench.worker, &to_own_worker, &bench.ep), "ep_create");
    ufx_ucp_worker_release_address(bench.worker, bytes);

    const ufx_ucp_mem_params_t memory = {
        .field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH,
        .address = &bench,
        .length = sizeof(bench),
    };
    bench_check(ufx_ucp_mem_map(bench.context, &memory, &bench.mem), "mem_map");
    bench_check(ufx_ucp_rkey_pack(bench.context, bench.mem, &bytes, &length), "rkey_pack");
    bench_check(ufx_ucp_ep_rkey_unpack(bench.ep, bytes, length, &bench.rkey), "rkey_unpack");
    ufx_ucp_rkey_buffer_release(bytes);
}

static void close_all(void)
{
    ufx_ucp_rkey_destroy(bench.rkey);
    ufx_ucp_worker_destroy(bench.worker);
    bench_check(ufx_ucp_mem_unmap(bench.context, bench.mem), "mem_unmap");
    ufx_ucp_context_destroy(bench.context);
}

static void progress_worker(void)
{
    ufx_ucp_worker_progress(bench.worker);
}

const struct bench_program bench_program = {
    .name = "bench_ucp",
    .operations = operations,
    .count = sizeof(operations) / sizeof(operations[0]),
    .open = open_all,
    .progress = progress_worker,
    .close = close_all,
};
