/* SPDX-License-Identifier: BSD-3-Clause
 * Posts one kind of ucp operation N times on an ep to the own worker, for instruction counts:
 * bench_ucp OP N. As bench_ops does: bursts, then progress until all of a burst are done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ufx/ucp.h>

enum { BURST = 32, SHORT_BYTES = 8, LONG_BYTES = 4096, AM_ID = 3 };

/* All that one benchmark needs. */
struct bench {
    ufx_ucp_context_h context;
    ufx_ucp_worker_h worker;
    ufx_ucp_ep_h ep;
    ufx_ucp_mem_h mem;
    ufx_ucp_rkey_h rkey;
    unsigned long done; /* completions */
    uint64_t target[LONG_BYTES / sizeof(uint64_t)];
    uint64_t local[LONG_BYTES / sizeof(uint64_t)];
};

static struct bench bench;

static void check(ufx_status_t status, const char *what)
{
    if (status != UFX_OK && status != UFX_INPROGRESS) {
        fprintf(stderr, "bench_ucp: %s: %s\n", what, ufx_ucs_status_name(status));
        exit(1);
    }
}

static void on_done(void *arg, ufx_ucp_request_h request, const ufx_ucp_completion_t *completion)
{
    (void)arg, (void)request;
    check(completion->status, "completion");
    ++bench.done;
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
    ++bench.done;
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

static ufx_status_t put_8(void) { return put(SHORT_BYTES); }
static ufx_status_t put_4k(void) { return put(LONG_BYTES); }
static ufx_status_t get_8(void) { return get(SHORT_BYTES); }
static ufx_status_t get_4k(void) { return get(LONG_BYTES); }
static ufx_status_t am_8(void) { return am(SHORT_BYTES); }
static ufx_status_t am_4k(void) { return am(LONG_BYTES); }

static ufx_status_t fadd(void)
{
    return ufx_ucp_atomic(bench.ep, UFX_UCP_ATOMIC_ADD, 1, 0, sizeof(uint64_t), bench.local,
                          (uintptr_t)bench.target, bench.rkey, params(), NULL);
}

static const struct operation {
    const char *name;
    ufx_status_t (*post)(void);
    unsigned burst;
} operations[] = {
    {"ucp_progress", progress, 1}, {"ucp_put_8", put_8, BURST}, {"ucp_put_4k", put_4k, BURST},
    {"ucp_get_8", get_8, BURST},   {"ucp_get_4k", get_4k, BURST}, {"ucp_am_8", am_8, BURST},
    {"ucp_am_4k", am_4k, BURST},   {"ucp_fadd", fadd, BURST},
};

static void open_all(void)
{
    const ufx_ucp_context_params_t on_loopback = {
        .field_mask = UFX_UCP_CONTEXT_PARAM_DEVICES,
        .devices = "lo:127.0.0.1",
    };
    check(ufx_ucp_context_create(&on_loopback, &bench.context), "context_create");
    check(ufx_ucp_worker_create(bench.context, NULL, &bench.worker), "worker_create");
    check(ufx_ucp_worker_set_am_handler(bench.worker, AM_ID, on_message, NULL), "set_am_handler");

    void *bytes;
    size_t length;
    check(ufx_ucp_worker_get_address(bench.worker, &bytes, &length), "get_address");
    const ufx_ucp_ep_params_t to_own_worker = {
        .field_mask = UFX_UCP_EP_PARAM_ADDRESS,
        .address = bytes,
        .address_length = length,
    };
    check(ufx_ucp_ep_create(bench.worker, &to_own_worker, &bench.ep), "ep_create");
    ufx_ucp_worker_release_address(bench.worker, bytes);

    const ufx_ucp_mem_params_t memory = {
        .field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH,
        .address = &bench,
        .length = sizeof(bench),
    };
    check(ufx_ucp_mem_map(bench.context, &memory, &bench.mem), "mem_map");
    check(ufx_ucp_rkey_pack(bench.context, bench.mem, &bytes, &length), "rkey_pack");
    check(ufx_ucp_ep_rkey_unpack(bench.ep, bytes, length, &bench.rkey), "rkey_unpack");
    ufx_ucp_rkey_buffer_release(bytes);
}

static void close_all(void)
{
    ufx_ucp_rkey_destroy(bench.rkey);
    ufx_ucp_worker_destroy(bench.worker);
    check(ufx_ucp_mem_unmap(bench.context, bench.mem), "mem_unmap");
    ufx_ucp_context_destroy(bench.context);
}

static void run(const struct operation *operation, unsigned long count)
{
    for (unsigned long posted = 0; posted < count;) {
        for (unsigned i = 0; i < operation->burst; ++i, ++posted) {
            check(operation->post(), operation->name);
        }
        do {
            ufx_ucp_worker_progress(bench.worker);
        } while (bench.done < posted);
    }
}

int main(int argc, char **argv)
{
    const size_t known = sizeof(operations) / sizeof(operations[0]);
    if (argc == 1) {
        for (size_t i = 0; i < known; ++i) {
            puts(operations[i].name);
        }
        return 0;
    }
    for (size_t i = 0; argc == 3 && i < known; ++i) {
        if (strcmp(argv[1], operations[i].name) == 0) {
            open_all();
            run(&operations[i], strtoul(argv[2], NULL, 10));
            close_all();
            return 0;
        }
    }
    fprintf(stderr, "usage: bench_ucp [OP N]\n");
    return 2;
}
