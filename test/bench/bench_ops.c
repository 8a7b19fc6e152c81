/* SPDX-License-Identifier: BSD-3-Clause
 * Posts one kind of operation N times on `self`, for instruction counts: bench_ops OP N.
 */
#include "bench_main.h"

#include <string.h>

#include <ufx/uct.h>

enum { SHORT_BYTES = 8, ZCOPY_BYTES = 4096 };

/* All that one benchmark needs; one ep that leads to its own iface. */
struct bench {
    const ufx_uct_component_t *component;
    ufx_uct_md_h md;
    ufx_uct_worker_h worker;
    ufx_uct_iface_h iface;
    ufx_uct_ep_h ep;
    ufx_uct_mem_h memh;
    ufx_uct_rkey_bundle_t rkey;
    ufx_uct_completion_t comp;
    uint64_t target[ZCOPY_BYTES / sizeof(uint64_t)];
    uint64_t local[ZCOPY_BYTES / sizeof(uint64_t)];
};

static struct bench bench;

static ufx_status_t on_message(void *arg, void *data, size_t length, unsigned flags)
{
    (void)arg, (void)data, (void)length, (void)flags;
    ++bench_done;
    return UFX_OK;
}

static void on_completion(ufx_uct_completion_t *self)
{
    (void)self;
    ++bench_done;
}

static size_t pack(void *dest, void *arg)
{
    memcpy(dest, arg, SHORT_BYTES);
    return SHORT_BYTES;
}

static ufx_uct_completion_t *completion(void)
{
    bench.comp.count = 1;
    bench.comp.status = UFX_OK;
    return &bench.comp;
}

static ufx_status_t as_status(ssize_t packed)
{
    return packed < 0 ? (ufx_status_t)packed : UFX_OK;
}

/* Each operation returns as its uct call; one that has no callback counts itself. */
static ufx_status_t none(void)
{
    ++bench_done;
    return UFX_OK;
}

static ufx_status_t put_short(void)
{
    ++bench_done;
    return ufx_uct_ep_put_short(bench.ep, bench.local, SHORT_BYTES, (uintptr_t)bench.target,
                                bench.rkey.rkey);
}

static ufx_status_t put_bcopy(void)
{
    ++bench_done;
    return as_status(ufx_uct_ep_put_bcopy(bench.ep, pack, bench.local, (uintptr_t)bench.target,
                                          bench.rkey.rkey));
}

static ufx_uct_iov_t local_iov(void)
{
    const ufx_uct_iov_t iov = {bench.local, ZCOPY_BYTES, bench.memh};
    return iov;
}

static ufx_status_t count_if_done(ufx_status_t status)
{
    bench_done += status == UFX_OK;
    return status;
}

static ufx_status_t put_zcopy(void)
{
    const ufx_uct_iov_t iov = local_iov();
    return count_if_done(ufx_uct_ep_put_zcopy(bench.ep, &iov, 1, (uintptr_t)bench.target,
                                              bench.rkey.rkey, completion()));
}

static ufx_status_t get_zcopy(void)
{
    const ufx_uct_iov_t iov = local_iov();
    return count_if_done(ufx_uct_ep_get_zcopy(bench.ep, &iov, 1, (uintptr_t)bench.target,
                                              bench.rkey.rkey, completion()));
}

static ufx_status_t fetch_add(void)
{
    return count_if_done(ufx_uct_ep_atomic64_fetch(bench.ep, UFX_UCT_ATOMIC_ADD, 1, bench.local,
                                                   (uintptr_t)bench.target, bench.rkey.rkey,
                                                   completion()));
}

static ufx_status_t am_short(void)
{
    return ufx_uct_ep_am_short(bench.ep, 1, 7, bench.local, SHORT_BYTES);
}

static ufx_status_t am_bcopy(void)
{
    return as_status(ufx_uct_ep_am_bcopy(bench.ep, 1, pack, bench.local, 0));
}

static const struct bench_operation operations[] = {
    {"progress", none, 1},
    {"put_short", put_short, BENCH_BURST},
    {"put_bcopy", put_bcopy, BENCH_BURST},
    {"put_zcopy", put_zcopy, 1},
    {"get_zcopy", get_zcopy, 1},
    {"fetch_add", fetch_add, 1},
    {"am_short", am_short, BENCH_BURST},
    {"am_bcopy", am_bcopy, BENCH_BURST},
};

static void open_all(void)
{
    bench_check(ufx_uct_find_component("self", &bench.component), "find_component");
    bench_check(ufx_uct_md_open(bench.component, "self", NULL, &bench.md), "md_open");
    bench_check(ufx_uct_worker_create(&bench.worker), "worker_create");
    const ufx_uct_iface_params_t open = {
        .field_mask =
            UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME | UFX_UCT_IFACE_PARAM_WORKER,
        .tl_name = "self",
        .dev_name = "memory",
        .worker = bench.worker,
    };
    bench_check(ufx_uct_iface_open(bench.md, &open, &bench.iface), "iface_open");
    bench_check(ufx_uct_iface_set_am_handler(bench.iface, 1, on_message, NULL), "set_am_handler");

    uint8_t device_addr[UFX_UCT_ADDR_MAX];
    uint8_t iface_addr[UFX_UCT_ADDR_MAX];
    bench_check(ufx_uct_iface_get_device_address(bench.iface, device_addr), "get_device_address");
    bench_check(ufx_uct_iface_get_address(bench.iface, iface_addr), "get_address");
    const ufx_uct_ep_params_t connect = {
        .field_mask = UFX_UCT_EP_PARAM_DEVICE_ADDR | UFX_UCT_EP_PARAM_IFACE_ADDR,
        .device_addr = device_addr,
        .iface_addr = iface_addr,
    };
    bench_check(ufx_uct_ep_create(bench.iface, &connect, &bench.ep), "ep_create");

    const ufx_uct_mem_params_t memory = {
        .field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH,
        .address = &bench,
        .length = sizeof(bench),
    };
    bench_check(ufx_uct_md_mem_reg(bench.md, &memory, &bench.memh), "mem_reg");
    ufx_uct_md_attr_t attr;
    uint8_t packed[UFX_UCT_ADDR_MAX];
    bench_check(ufx_uct_md_query(bench.md, &attr), "md_query");
    bench_check(ufx_uct_md_mkey_pack(bench.md, bench.memh, packed), "mkey_pack");
    bench_check(ufx_uct_md_rkey_unpack(bench.md, packed, attr.rkey_packed_size, &bench.rkey),
                "rkey_unpack");
    bench.comp.func = on_completion;
}

static void close_all(void)
{
    ufx_uct_md_rkey_release(bench.md, &bench.rkey);
    ufx_uct_ep_destroy(bench.ep);
    bench_check(ufx_uct_md_mem_dereg(bench.md, bench.memh), "mem_dereg");
    ufx_uct_iface_close(bench.iface);
    ufx_uct_worker_destroy(bench.worker);
    ufx_uct_md_close(bench.md);
}

static void progress_worker(void)
{
    ufx_uct_worker_progress(bench.worker);
}

const struct bench_program bench_program = {
    .name = "bench_ops",
    .operations = operations,
    .count = sizeof(operations) / sizeof(operations[0]),
    .open = open_all,
    .progress = progress_worker,
    .close = close_all,
};
