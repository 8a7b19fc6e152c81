/* SPDX-License-Identifier: BSD-3-Clause
 * Moves blocks of a cache from one process into another over two rails, loses one rail in the
 * middle, and gets it back: kv_transfer [ROUNDS]
 *
 * The sender puts a list of blocks with one notification behind it, as an inference engine hands a
 * KV cache from prefill to decode. The receiver is told of each list once, after all of its blocks
 * are in memory, and checks them. Rails are UFX_NET_DEVICES, or two loopback addresses.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ufx/ucp.h>

enum { BLOCKS = 16, BLOCK_WORDS = 8192, SLOTS = 8, LIST_WORDS = BLOCKS * BLOCK_WORDS };

/* Each list in flight has its slot of the cache: the receiver's copy is not overwritten until the
 * receiver has said, by a message, that it read it. */
static uint64_t cache[SLOTS][LIST_WORDS];

enum { READ_ID = 1 }; /* the receiver read the list whose number is the payload */

/* What a sender has to know of a receiver; a real program brings it by its own means. */
struct invitation {
    uint64_t address; /* of the cache */
    size_t worker_length, rkey_length;
    unsigned char worker[4096], rkey[4096];
};

struct side {
    ufx_ucp_context_h context;
    ufx_ucp_worker_h worker;
    ufx_ucp_mem_h mem;
    unsigned long lists; /* receiver: notified of; sender: known to be read */
    unsigned long wrong; /* words that are not what was sent */
    ufx_ucp_ep_h ep;     /* receiver: leads back to the sender; NULL before its first list */
    unsigned long answered; /* receiver: lists of which the sender was told that they are read */
    int peer_lost;
};

static void check(ufx_status_t status, const char *what)
{
    if (status != UFX_OK && status != UFX_INPROGRESS) {
        fprintf(stderr, "kv_transfer: %s: %s\n", what, ufx_ucs_status_name(status));
        exit(1);
    }
}

static void open_side(struct side *side)
{
    const ufx_ucp_context_params_t rails = {
        .field_mask = getenv("UFX_NET_DEVICES") == NULL ? UFX_UCP_CONTEXT_PARAM_DEVICES : 0,
        .devices = "lo:127.0.0.1,lo:127.0.0.2",
    };
    check(ufx_ucp_context_create(&rails, &side->context), "context_create");
    check(ufx_ucp_worker_create(side->context, NULL, &side->worker), "worker_create");
    const ufx_ucp_mem_params_t memory = {
        .field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH,
        .address = cache,
        .length = sizeof(cache),
    };
    check(ufx_ucp_mem_map(side->context, &memory, &side->mem), "mem_map");
}

static void close_side(struct side *side)
{
    ufx_ucp_worker_destroy(side->worker);
    check(ufx_ucp_mem_unmap(side->context, side->mem), "mem_unmap");
    ufx_ucp_context_destroy(side->context);
}

/* Progress until a request has ended, and how it did. */
static ufx_status_t wait_for(struct side *side, ufx_ucp_request_h request)
{
    ufx_status_t status = UFX_OK;
    while (request != NULL && (status = ufx_ucp_request_check(request)) == UFX_INPROGRESS) {
        ufx_ucp_worker_progress(side->worker);
    }
    if (request != NULL) {
        ufx_ucp_request_free(request);
    }
    return status;
}

static uint64_t word(unsigned long list, unsigned i) { return ((uint64_t)list << 32) + i; }

/* Rails come and go without a word of ours; only the peer's end is one. */
static void on_event(void *arg, ufx_ucp_ep_h ep, const ufx_ucp_ep_event_t *event)
{
    struct side *side = arg;
    (void)ep;
    if (event->type == UFX_UCP_EP_EVENT_ERROR) {
        fprintf(stderr, "kv_transfer: the peer is lost: %s (%s)\n",
                event->text != NULL ? event->text : "no reason given",
                ufx_ucs_status_name(event->status));
    }
    side->peer_lost |= event->type != UFX_UCP_EP_EVENT_PEER_TRANSFERS_DEAD;
}

/* ---- The receiver ----------------------------------------------------------------------------*/

static void on_notify(void *arg, ufx_ucp_ep_h ep, uint64_t list, const void *data, size_t length)
{
    struct side *side = arg;
    (void)data, (void)length;
    for (unsigned i = 0; i < LIST_WORDS; ++i) {
        side->wrong += cache[list % SLOTS][i] != word(list, i);
    }
    side->wrong += list != side->lists; /* twice, or out of turn */
    ++side->lists;
    if (side->ep == NULL) { /* an ep with an event callback is ours to keep */
        check(ufx_ucp_ep_set_event_cb(ep, on_event, side), "ep_set_event_cb");
        side->ep = ep;
    }
}

/* A callback may not wait until there is room for a message: what it wants to send is noted, and
 * sent from here, between two calls of progress. */
static void answer(struct side *side)
{
    while (side->answered < side->lists && !side->peer_lost) {
        const uint64_t list = side->answered;
        const ufx_status_t status =
            ufx_ucp_am_send(side->ep, READ_ID, &list, sizeof(list), NULL, 0, NULL, NULL);
        if (status == UFX_ERR_NO_RESOURCE) {
            return; /* after the next progress */
        }
        if (status == UFX_ERR_SHUTDOWN) {
            return; /* the sender needs no slot any more: its end is told by on_event() */
        }
        check(status, "am_send");
        ++side->answered;
    }
}

static int receive(int channel, unsigned long lists)
{
    struct side side = {0};
    struct invitation invitation = {.address = (uintptr_t)cache};
    open_side(&side);
    check(ufx_ucp_worker_set_notify_handler(side.worker, on_notify, &side), "set_notify_handler");

    void *bytes;
    check(ufx_ucp_worker_get_address(side.worker, &bytes, &invitation.worker_length),
          "get_address");
    memcpy(invitation.worker, bytes, invitation.worker_length);
    ufx_ucp_worker_release_address(side.worker, bytes);
    check(ufx_ucp_rkey_pack(side.context, side.mem, &bytes, &invitation.rkey_length), "rkey_pack");
    memcpy(invitation.rkey, bytes, invitation.rkey_length);
    ufx_ucp_rkey_buffer_release(bytes);
    if (write(channel, &invitation, sizeof(invitation)) != (ssize_t)sizeof(invitation)) {
        return 1;
    }

    /* The channel ends when the sender has closed its ep. */
    char end;
    while (recv(channel, &end, 1, MSG_DONTWAIT) != 0) {
        ufx_ucp_worker_progress(side.worker);
        answer(&side);
    }
    printf("receiver: %lu lists of %lu, %lu wrong words\n", side.lists, lists, side.wrong);
    close_side(&side);
    return side.lists == lists && side.wrong == 0 ? 0 : 1;
}

/* ---- The sender ------------------------------------------------------------------------------*/

static ufx_status_t on_read(void *arg, const ufx_ucp_am_t *am)
{
    struct side *side = arg;
    (void)am;
    ++side->lists;
    return UFX_OK;
}

static void put_list(ufx_ucp_ep_h ep, const struct side *side, ufx_ucp_rkey_h rkey,
                     uint64_t remote, unsigned long list)
{
    ufx_ucp_transfer_t blocks[BLOCKS];
    uint64_t *slot = cache[list % SLOTS];
    for (unsigned i = 0; i < LIST_WORDS; ++i) {
        slot[i] = word(list, i);
    }
    for (unsigned i = 0; i < BLOCKS; ++i) {
        uint64_t *block = slot + i * BLOCK_WORDS;
        blocks[i] = (ufx_ucp_transfer_t){
            .local = block,
            .remote_addr = remote + (uint64_t)((char *)block - (char *)cache),
            .length = BLOCK_WORDS * sizeof(uint64_t),
            .rkey = rkey,
            .mem = side->mem,
        };
    }
    const ufx_ucp_notify_t notify = {.tag = list};
    ufx_status_t status;
    /* With queues that are full nothing was posted: make room by progress, and try again. */
    while ((status = ufx_ucp_put_list(ep, blocks, BLOCKS, &notify, NULL, NULL)) ==
               UFX_ERR_NO_RESOURCE &&
           !side->peer_lost) {
        ufx_ucp_worker_progress(side->worker);
    }
    if (!side->peer_lost) {
        check(status, "put_list");
    }
}

static int send_all(int channel, unsigned long lists)
{
    struct side side = {0};
    struct invitation invitation;
    open_side(&side);
    check(ufx_ucp_worker_set_am_handler(side.worker, READ_ID, on_read, &side), "set_am_handler");
    if (recv(channel, &invitation, sizeof(invitation), MSG_WAITALL) !=
        (ssize_t)sizeof(invitation)) {
        return 1;
    }
    const ufx_ucp_ep_params_t to_receiver = {
        .field_mask = UFX_UCP_EP_PARAM_ADDRESS | UFX_UCP_EP_PARAM_EVENT_CB,
        .address = invitation.worker,
        .address_length = invitation.worker_length,
        .event_cb = on_event,
        .event_arg = &side,
    };
    ufx_ucp_ep_h ep;
    ufx_ucp_rkey_h rkey;
    ufx_ucp_request_h request = NULL;
    check(ufx_ucp_ep_create(side.worker, &to_receiver, &ep), "ep_create");
    check(ufx_ucp_ep_rkey_unpack(ep, invitation.rkey, invitation.rkey_length, &rkey),
          "rkey_unpack");

    for (unsigned long list = 0; list < lists; ++list) {
        /* A slot is free when its last list was read. */
        while (side.lists + SLOTS <= list && !side.peer_lost) {
            ufx_ucp_worker_progress(side.worker);
        }
        if (side.peer_lost) {
            return 1;
        }
        if (list == lists / 3 || list == 2 * (lists / 3)) {
            const int up = list != lists / 3;
            check(ufx_ucp_rail_set_link(side.worker, "rail1", up),
                  "rail_set_link: it takes two devices in UFX_NET_DEVICES");
            printf("sender: rail1 %s\n", up ? "back" : "lost");
        }
        put_list(ep, &side, rkey, invitation.address, list);
    }
    check(ufx_ucp_ep_flush(ep, NULL, &request), "flush");
    check(wait_for(&side, request), "flush");

    ufx_ucp_failover_stats_t stats;
    check(ufx_ucp_worker_query_failover(side.worker, &stats), "query_failover");
    printf("sender: %lu lists, %llu fragments caught on the lost rail, %llu of them posted again\n",
           lists, (unsigned long long)stats.frozen, (unsigned long long)stats.replayed);
    ufx_ucp_rkey_destroy(rkey);
    request = NULL;
    check(ufx_ucp_ep_close(ep, UFX_UCP_CLOSE_FLUSH, NULL, &request), "close");
    check(wait_for(&side, request), "close");
    close_side(&side);
    return 0;
}

int main(int argc, char **argv)
{
    const unsigned long lists = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
    int channel[2];
    if (lists == 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, channel) != 0) {
        fprintf(stderr, "usage: kv_transfer [ROUNDS]\n");
        return 2;
    }
    const pid_t receiver = fork();
    if (receiver == 0) {
        close(channel[0]);
        return receive(channel[1], lists);
    }
    close(channel[1]);
    const int sent = send_all(channel[0], lists);
    close(channel[0]);
    int status = 1;
    waitpid(receiver, &status, 0);
    return sent != 0 || status != 0;
}
