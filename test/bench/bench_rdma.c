/* SPDX-License-Identifier: BSD-3-Clause
 * Posts one kind of operation N times over an RDMA transport, for instruction counts:
 * bench_rdma OP N, on a ConnectX in software (ufx_swhca run --engine trap). bench_verbs is the same
 * over rc_verbs.
 *
 * Two eps of one process that face each other, each with an iface and a worker of its own. What is
 * counted is inside functions whose names begin with counted_; the other side runs outside of them.
 */
#include "bench_main.h"

#include <string.h>

#include <ufx/uct.h>

#ifndef BENCH_TRANSPORT
#define BENCH_TRANSPORT "rc_mlx5"
#endif

/* LONGER_BYTES: as many as every transport copies into a request, but not into one block of it. */
enum { SHORT_BYTES = 8, LONGER_BYTES = 64, ZCOPY_BYTES = 4096, AM_ID = 1 };

struct side {
    ufx_uct_worker_h worker;
    ufx_uct_iface_h iface;
    ufx_uct_ep_h ep;
};

/* All that one benchmark needs. */
struct bench {
    const ufx_uct_component_t *component;
    ufx_uct_md_h md;
    struct side sender;
    struct side receiver;
    struct side *counted; /* whose progress */
    ufx_uct_mem_h memh;
    ufx_uct_rkey_bundle_t rkey;
    ufx_uct_completion_t comps[2 * BENCH_BURST];
    unsigned next_comp;
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
    ufx_uct_completion_t *comp = &bench.comps[bench.next_comp++ % (2 * BENCH_BURST)];
    comp->func = on_completion;
    comp->count = 1;
    comp->status = UFX_OK;
    return comp;
}

static ufx_status_t as_status(ssize_t packed)
{
    return packed < 0 ? (ufx_status_t)packed : UFX_OK;
}

/* An operation without a callback counts itself; a message is counted by its handler. */
static ufx_status_t none(void)
{
    ++bench_done;
    return UFX_OK;
}

static ufx_status_t counted_put_short(void)
{
    ++bench_done;
    return ufx_uct_ep_put_short(bench.sender.ep, bench.local, SHORT_BYTES, (uintptr_t)bench.target,
                                bench.rkey.rkey);
}

static ufx_status_t counted_put_short_64(void)
{
    ++bench_done;
    return ufx_uct_ep_put_short(bench.sender.ep, bench.local, LONGER_BYTES,
                                (uintptr_t)bench.target, bench.rkey.rkey);
}

static ufx_status_t counted_put_bcopy(void)
{
    ++bench_done;
    return as_status(ufx_uct_ep_put_bcopy(bench.sender.ep, pack, bench.local,
                                          (uintptr_t)bench.target, bench.rkey.rkey));
}

static ufx_uct_iov_t local_iov(void)
{
    const ufx_uct_iov_t iov = {bench.local, ZCOPY_BYTES, bench.memh};
    return iov;
}

static ufx_status_t counted_put_zcopy(void)
{
    const ufx_uct_iov_t iov = local_iov();
    return ufx_uct_ep_put_zcopy(bench.sender.ep, &iov, 1, (uintptr_t)bench.target, bench.rkey.rkey,
                                completion());
}

static ufx_status_t counted_get_zcopy(void)
{
    const ufx_uct_iov_t iov = local_iov();
    return ufx_uct_ep_get_zcopy(bench.sender.ep, &iov, 1, (uintptr_t)bench.target, bench.rkey.rkey,
                                completion());
}

static ufx_status_t counted_fetch_add(void)
{
    return ufx_uct_ep_atomic64_fetch(bench.sender.ep, UFX_UCT_ATOMIC_ADD, 1, bench.local,
                                     (uintptr_t)bench.target, bench.rkey.rkey, completion());
}

static ufx_status_t counted_cswap(void)
{
    return ufx_uct_ep_atomic64_cswap(bench.sender.ep, 0, 1, bench.local, (uintptr_t)bench.target,
                                     bench.rkey.rkey, completion());
}

static ufx_status_t counted_am_short_64(void)
{
    return ufx_uct_ep_am_short(bench.sender.ep, AM_ID, 7, bench.local, LONGER_BYTES);
}

static ufx_status_t counted_am_short(void)
{
    return ufx_uct_ep_am_short(bench.sender.ep, AM_ID, 7, bench.local, SHORT_BYTES);
}

static ufx_status_t counted_am_bcopy(void)
{
    return as_status(ufx_uct_ep_am_bcopy(bench.sender.ep, AM_ID, pack, bench.local, 0));
}

static ufx_status_t am_for_receiver(void)
{
    bench.counted = &bench.receiver;
    return ufx_uct_ep_am_short(bench.sender.ep, AM_ID, 7, bench.local, SHORT_BYTES);
}

static const struct bench_operation operations[] = {
    {"progress", none, 1},
    {"put_short", counted_put_short, 2 * BENCH_BURST},
    {"put_short_64", counted_put_short_64, BENCH_BURST},
    {"put_bcopy", counted_put_bcopy, 2 * BENCH_BURST},
    {"put_zcopy", counted_put_zcopy, BENCH_BURST},
    {"get_zcopy", counted_get_zcopy, BENCH_BURST},
    {"fetch_add", counted_fetch_add, BENCH_BURST},
    {"cswap", counted_cswap, BENCH_BURST},
    {"am_short", counted_am_short, 2 * BENCH_BURST},
    {"am_short_64", counted_am_short_64, BENCH_BURST},
    {"am_bcopy", counted_am_bcopy, 2 * BENCH_BURST},
    {"am_receive", am_for_receiver, 2 * BENCH_BURST},
};

__attribute__((noinline)) static void counted_progress(ufx_uct_worker_h worker)
{
    ufx_uct_worker_progress(worker);
}

static void progress_both(void)
{
    struct side *other = bench.counted == &bench.sender ? &bench.receiver : &bench.sender;
    ufx_uct_worker_progress(other->worker);
    counted_progress(bench.counted->worker);
}

static void open_side(struct side *side)
{
    bench_check(ufx_uct_worker_create(&side->worker), "worker_create");
    const ufx_uct_iface_params_t open = {
        .field_mask =
            UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME | UFX_UCT_IFACE_PARAM_WORKER,
        .tl_name = BENCH_TRANSPORT,
        .dev_name = "mlx5_0:1",
        .worker = side->worker,
    };
    bench_check(ufx_uct_iface_open(bench.md, &open, &side->iface), "iface_open");
    bench_check(ufx_uct_iface_set_am_handler(side->iface, AM_ID, on_message, NULL),
                "set_am_handler");
    const ufx_uct_ep_params_t unconnected = {0};
    bench_check(ufx_uct_ep_create(side->iface, &unconnected, &side->ep), "ep_create");
}

static void connect_side(struct side *side, struct side *to)
{
    uint8_t device_addr[UFX_UCT_ADDR_MAX];
    uint8_t iface_addr[UFX_UCT_ADDR_MAX];
    uint8_t ep_addr[UFX_UCT_ADDR_MAX];
    bench_check(ufx_uct_iface_get_device_address(to->iface, device_addr), "get_device_address");
    bench_check(ufx_uct_iface_get_address(to->iface, iface_addr), "get_address");
    bench_check(ufx_uct_ep_get_address(to->ep, ep_addr), "ep_get_address");
    bench_check(ufx_uct_ep_connect_to_ep(side->ep, device_addr, iface_addr, ep_addr), "connect");
}

static void open_all(void)
{
    bench_check(ufx_uct_find_component("ib", &bench.component), "find_component");
    bench_check(ufx_uct_md_open(bench.component, "mlx5_0", NULL, &bench.md), "md_open");
    open_side(&bench.sender);
    open_side(&bench.receiver);
    connect_side(&bench.sender, &bench.receiver);
    connect_side(&bench.receiver, &bench.sender);
    bench.counted = &bench.sender;

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
}

static void close_side(const struct side *side)
{
    ufx_uct_ep_destroy(side->ep);
    ufx_uct_iface_close(side->iface);
    ufx_uct_worker_destroy(side->worker);
}

static void close_all(void)
{
    ufx_uct_md_rkey_release(bench.md, &bench.rkey);
    close_side(&bench.sender);
    close_side(&bench.receiver);
    bench_check(ufx_uct_md_mem_dereg(bench.md, bench.memh), "mem_dereg");
    ufx_uct_md_close(bench.md);
}

const struct bench_program bench_program = {
    .name = "bench_rdma",
    .operations = operations,
    .count = sizeof(operations) / sizeof(operations[0]),
    .open = open_all,
    .progress = progress_both,
    .close = close_all,
};
