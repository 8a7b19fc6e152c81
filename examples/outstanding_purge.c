/* SPDX-License-Identifier: BSD-3-Clause
 * A link is cut under load, and nothing is written twice: what a transport tells of operations
 * whose fate nobody knows, by <ufx/uct.h> alone.
 *
 *     outstanding_purge [TRANSPORT DEVICE]       default: the first of rc_mlx5, rc_verbs, tcp
 *     ufx_swhca run --rate 1Gb/s -- outstanding_purge rc_mlx5 mlx5_0:1
 *
 * Both sides are in this process; where two hosts would exchange messages a comment says so.
 *   1. The error handler of the sender answers UFX_INPROGRESS: outstanding operations are kept.
 *   2. The target closes its side, and says how far it got: the token.
 *   3. By the token outstanding_purge() hands out each operation with its verdict.
 *   4. What has not landed is posted again over a new connection.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ufx/uct.h>

enum { PUTS = 64, PUT_BYTES = 65536, ADDRESS_MAX = 256 };

static unsigned char source[PUTS][PUT_BYTES], target[PUTS][PUT_BYTES];

/* A side of the connection: its device, and its end. */
struct side {
    ufx_uct_md_h md;
    ufx_uct_iface_h iface;
    ufx_uct_iface_attr_t attr;
    ufx_uct_ep_h ep;
    ufx_uct_mem_h memory;
};

/* A put of the sender, which owns its completion until the put is over. */
struct put {
    ufx_uct_completion_t completion; /* first, so that it leads to the put */
    unsigned number;
    size_t landed; /* bytes that are in the target's memory */
    int is_over;
};

struct sender {
    struct side *side;
    struct put puts[PUTS];
    ufx_uct_rkey_bundle_t key; /* of the target's memory */
    int has_failed;
    unsigned verdicts[5];
};

static void check(ufx_status_t status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "outstanding_purge: %s: %s\n", what, ufx_ucs_status_string(status));
        exit(1);
    }
}

/* ---- Opening and connecting ------------------------------------------------------------------*/

/* 1: an operation may still be under way. Keep them all: their fate is asked for below. */
static ufx_status_t on_error(void *arg, ufx_uct_ep_h ep, const ufx_uct_error_t *error)
{
    struct sender *sender = arg;
    (void)ep;
    printf("the connection broke: %s (%s)\n", ufx_ucs_status_string(error->status), error->text);
    sender->has_failed = 1;
    return UFX_INPROGRESS;
}

static ufx_status_t open_on(const ufx_uct_component_t *component, const char *md_name,
                            const char *transport, const char *device, struct sender *sender,
                            struct side *side)
{
    const ufx_uct_iface_params_t params = {
        .field_mask = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME |
                      (sender != NULL ? UFX_UCT_IFACE_PARAM_ERR_HANDLER : 0),
        .tl_name = transport,
        .dev_name = device,
        .err_handler = on_error,
        .err_handler_arg = sender,
    };
    ufx_status_t status = ufx_uct_md_open(component, md_name, NULL, &side->md);
    if (status != UFX_OK) {
        return status;
    }
    status = ufx_uct_iface_open(side->md, &params, &side->iface);
    if (status != UFX_OK) {
        ufx_uct_md_close(side->md);
    }
    return status;
}

/* The memory domain that has this transport on this device. */
static ufx_status_t open_side(const char *transport, const char *device, struct sender *sender,
                              struct side *side)
{
    const ufx_uct_component_t **components;
    size_t count = 0;
    ufx_status_t status = UFX_ERR_NO_DEVICE;
    check(ufx_uct_query_components(&components, &count), "query_components");
    for (size_t i = 0; i < count && status != UFX_OK; ++i) {
        ufx_uct_md_resource_t domains[64];
        size_t found = sizeof(domains) / sizeof(domains[0]);
        if (ufx_uct_component_query_mds(components[i], domains, &found) != UFX_OK) {
            continue;
        }
        for (size_t at = 0; at < found && status != UFX_OK; ++at) {
            status = open_on(components[i], domains[at].md_name, transport, device, sender, side);
        }
    }
    ufx_uct_release_component_list(components);
    if (status == UFX_OK) {
        check(ufx_uct_iface_query(side->iface, &side->attr), "iface_query");
    }
    return status;
}

static void share(struct side *side, void *memory)
{
    const ufx_uct_mem_params_t params = {
        .field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH,
        .address = memory,
        .length = sizeof(target),
    };
    check(ufx_uct_md_mem_reg(side->md, &params, &side->memory), "mem_reg");
}

/* What `end` gives away, `other` connects to; it would cross the network by other means. */
static void connect_to(struct side *end, struct side *other)
{
    unsigned char device[ADDRESS_MAX], iface[ADDRESS_MAX], ep[ADDRESS_MAX];
    if (end->attr.device_addr_len > ADDRESS_MAX || end->attr.iface_addr_len > ADDRESS_MAX ||
        end->attr.ep_addr_len > ADDRESS_MAX) {
        exit(1);
    }
    check(ufx_uct_iface_get_device_address(end->iface, device), "get_device_address");
    check(ufx_uct_iface_get_address(end->iface, iface), "get_address");
    check(ufx_uct_ep_get_address(end->ep, ep), "ep_get_address");
    check(ufx_uct_ep_connect_to_ep(other->ep, device, iface, ep), "connect_to_ep");
}

static void connect_sides(struct side *a, struct side *b)
{
    check(ufx_uct_ep_create(a->iface, NULL, &a->ep), "ep_create");
    check(ufx_uct_ep_create(b->iface, NULL, &b->ep), "ep_create");
    connect_to(a, b);
    connect_to(b, a);
}

static void close_side(struct side *side)
{
    ufx_uct_ep_destroy(side->ep);
    check(ufx_uct_md_mem_dereg(side->md, side->memory), "mem_dereg");
    ufx_uct_iface_close(side->iface);
    ufx_uct_md_close(side->md);
}

static void turn(struct side *a, struct side *b)
{
    ufx_uct_iface_progress(a->iface);
    ufx_uct_iface_progress(b->iface);
}

/* ---- Sending ---------------------------------------------------------------------------------*/

static void on_put(ufx_uct_completion_t *self)
{
    struct put *put = (struct put *)self;
    if (self->status == UFX_OK) {
        put->landed = PUT_BYTES;
        put->is_over = 1;
    }
}

/* What of it is not known to have landed. */
static ufx_status_t post(struct sender *sender, struct put *put)
{
    unsigned char *from = source[put->number] + put->landed;
    const ufx_uct_iov_t iov = {from, PUT_BYTES - put->landed, sender->side->memory};
    put->completion = (ufx_uct_completion_t){.func = on_put, .count = 1, .status = UFX_OK};
    const ufx_status_t status = ufx_uct_ep_put_zcopy(sender->side->ep, &iov, 1,
                                                     (uintptr_t)target[put->number] + put->landed,
                                                     sender->key.rkey, &put->completion);
    if (status == UFX_OK) { /* landed at once: no callback comes */
        on_put(&put->completion);
    } else if (status != UFX_ERR_NO_RESOURCE) { /* that is only for now: post it later */
        check(status, "put_zcopy");
    }
    return status;
}

static unsigned count_over(const struct sender *sender)
{
    unsigned over = 0;
    for (unsigned i = 0; i < PUTS; ++i) {
        over += sender->puts[i].is_over ? 1 : 0;
    }
    return over;
}

/* ---- When the link is gone -------------------------------------------------------------------*/

static void on_quiet(ufx_uct_completion_t *self)
{
    (void)self;
}

/* No posts any more, and nothing comes in any more once it is quiet. */
static void make_quiet(struct side *one, struct side *other)
{
    ufx_uct_completion_t quiet = {.func = on_quiet, .count = 1, .status = UFX_OK};
    if (ufx_uct_ep_invalidate(one->ep, &quiet) == UFX_INPROGRESS) {
        while (quiet.count != 0) {
            turn(one, other);
        }
    }
}

/* 3: the put belongs to its owner again, with what is known of it. */
static ufx_status_t on_outstanding(void *arg, const ufx_uct_op_desc_t *op,
                                   ufx_uct_verdict_t verdict, size_t bytes)
{
    struct sender *sender = arg;
    struct put *put = (struct put *)op->comp;
    sender->verdicts[verdict]++;
    if (verdict == UFX_UCT_VERDICT_LANDED) {
        put->landed = PUT_BYTES;
        put->is_over = 1;
    } else if (verdict == UFX_UCT_VERDICT_PARTIAL) {
        put->landed += bytes;
    }
    return UFX_OK;
}

static void judge(struct sender *sender, struct side *receiver)
{
    unsigned char token[UFX_UCT_TOKEN_MAX];
    size_t token_length = 0;
    ufx_uct_token_grade_t grade;
    /* The sender's token names the connection to the target; two hosts exchange it when they
     * connect. */
    ufx_uct_ep_attr_t named = {.field_mask = UFX_UCT_EP_ATTR_TX_TOKEN};
    check(ufx_uct_ep_query(sender->side->ep, &named), "ep_query");

    /* 2: at the target, asked by a message. It answers when nothing more can land. */
    make_quiet(receiver, sender->side);
    check(ufx_uct_iface_query_token(receiver->iface, named.tx_token, named.tx_token_len, token,
                                    &token_length, &grade),
          "query_token");

    /* 3: back at the sender, whose device must not read the buffers any more. */
    make_quiet(sender->side, receiver);
    check(ufx_uct_ep_outstanding_purge(sender->side->ep, grade, token, token_length, on_outstanding,
                                       sender),
          "outstanding_purge");
    printf("token %s: %u puts landed, %u in part, %u not\n",
           grade == UFX_UCT_GRADE_EXACT ? "EXACT" : "without a position",
           sender->verdicts[UFX_UCT_VERDICT_LANDED], sender->verdicts[UFX_UCT_VERDICT_PARTIAL],
           sender->verdicts[UFX_UCT_VERDICT_NOT_LANDED]);
}

/* Posts until the first puts are over, and cuts the link with the others under way. */
static void send_until_cut(struct sender *sender, struct side *receiver)
{
    unsigned posted = 0;
    while (count_over(sender) == 0 || posted < PUTS / 2) {
        while (posted < PUTS && post(sender, &sender->puts[posted]) >= 0) {
            ++posted;
        }
        turn(sender->side, receiver);
    }
    printf("%u puts posted, %u over: the link is cut\n", posted, count_over(sender));
    check(ufx_uct_iface_set_link(sender->side->iface, 0), "set_link");
    while (!sender->has_failed) {
        turn(sender->side, receiver);
    }
}

static void send_the_rest(struct sender *sender, struct side *receiver)
{
    check(ufx_uct_iface_set_link(sender->side->iface, 1), "set_link");
    ufx_uct_ep_destroy(sender->side->ep);
    ufx_uct_ep_destroy(receiver->ep);
    connect_sides(sender->side, receiver);
    for (unsigned i = 0; i < PUTS; ++i) {
        while (!sender->puts[i].is_over && post(sender, &sender->puts[i]) == UFX_ERR_NO_RESOURCE) {
            turn(sender->side, receiver);
        }
    }
    while (count_over(sender) != PUTS) {
        turn(sender->side, receiver);
    }
}

static ufx_status_t open_both(const char *transport, const char *device, struct sender *sender,
                              struct side *receiver)
{
    ufx_status_t status = open_side(transport, device, sender, sender->side);
    if (status == UFX_OK) {
        check(open_side(transport, device, NULL, receiver), device);
        printf("over %s on %s\n", transport, device);
    }
    return status;
}

int main(int argc, char **argv)
{
    static const char *const usual[][2] = {
        {"rc_mlx5", "mlx5_0:1"}, {"rc_verbs", "mlx5_0:1"}, {"tcp", "lo"}};
    struct side near = {0}, far = {0};
    struct sender sender = {.side = &near};
    ufx_status_t status = UFX_ERR_NO_DEVICE;
    if (argc == 3) {
        status = open_both(argv[1], argv[2], &sender, &far);
    }
    for (size_t i = 0; argc == 1 && i < sizeof(usual) / sizeof(usual[0]) && status != UFX_OK; ++i) {
        status = open_both(usual[i][0], usual[i][1], &sender, &far);
    }
    check(status, argc == 3 ? argv[2] : "usage: outstanding_purge [TRANSPORT DEVICE]");

    unsigned char key[ADDRESS_MAX];
    ufx_uct_md_attr_t domain;
    share(&near, source);
    share(&far, target);
    check(ufx_uct_md_query(far.md, &domain), "md_query");
    check(ufx_uct_md_mkey_pack(far.md, far.memory, key), "mkey_pack");
    check(ufx_uct_md_rkey_unpack(near.md, key, domain.rkey_packed_size, &sender.key),
          "rkey_unpack");
    for (unsigned i = 0; i < PUTS; ++i) {
        sender.puts[i].number = i;
        memset(source[i], (int)i + 1, PUT_BYTES);
    }
    connect_sides(&near, &far);
    send_until_cut(&sender, &far);
    judge(&sender, &far);
    send_the_rest(&sender, &far);
    const int is_right = memcmp(source, target, sizeof(target)) == 0;
    printf("all %d puts are there: %s\n", PUTS, is_right ? "yes" : "NO");
    ufx_uct_md_rkey_release(near.md, &sender.key);
    close_side(&near);
    close_side(&far);
    return is_right ? 0 : 1;
}
