/* SPDX-License-Identifier: BSD-3-Clause
 * Writes pages into another process and tells it of each by a message: put, fence, active message.
 *
 * A put and a message have no order of their own: without the fence between them the message may be
 * handled while the page is still on its way. Both sides sleep in ufx_ucp_worker_wait() while there
 * is nothing to do. Rails are UFX_NET_DEVICES, or two loopback addresses.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ufx/ucp.h>

enum { PAGES = 16, PAGE_WORDS = 65536, PAGE_IS_THERE = 1 /* id of the message */ };

static uint64_t memory[PAGES][PAGE_WORDS];

/* What the sender has to know of the receiver; a real program brings it by its own means. */
struct invitation {
    uint64_t address; /* of the memory */
    size_t worker_length, rkey_length;
    unsigned char worker[4096], rkey[4096];
};

struct side {
    ufx_ucp_context_h context;
    ufx_ucp_worker_h worker;
    ufx_ucp_mem_h mem;
    unsigned pages; /* receiver: told of */
    int is_met;     /* receiver: the sender has made its endpoint */
    int is_over;    /* receiver: the sender has closed its endpoint, or died */
    int is_wrong;
};

static void check(ufx_status_t status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "put_fence_am: %s: %s\n", what, ufx_ucs_status_string(status));
        exit(1);
    }
}

enum { LONGEST_SLEEP_MS = 1000 };

/* One turn: everything that is due, and if that was nothing, sleep until there is something. */
static void turn(struct side *side)
{
    if (ufx_ucp_worker_progress(side->worker) == 0) {
        check(ufx_ucp_worker_wait(side->worker, LONGEST_SLEEP_MS), "worker_wait");
    }
}

static void open_side(struct side *side, ufx_ucp_ep_accept_cb_t accept)
{
    const ufx_ucp_context_params_t rails = {
        .field_mask = getenv("UFX_NET_DEVICES") == NULL ? UFX_UCP_CONTEXT_PARAM_DEVICES : 0,
        .devices = "lo:127.0.0.1,lo:127.0.0.2",
    };
    const ufx_ucp_worker_params_t accepting = {
        .field_mask = accept != NULL ? UFX_UCP_WORKER_PARAM_EP_ACCEPT : 0,
        .ep_accept_cb = accept,
        .ep_accept_arg = side,
    };
    const ufx_ucp_mem_params_t all = {
        .field_mask = UFX_UCP_MEM_PARAM_ADDRESS | UFX_UCP_MEM_PARAM_LENGTH,
        .address = memory,
        .length = sizeof(memory),
    };
    check(ufx_ucp_context_create(&rails, &side->context), "context_create");
    check(ufx_ucp_worker_create(side->context, &accepting, &side->worker), "worker_create");
    check(ufx_ucp_mem_map(side->context, &all, &side->mem), "mem_map");
}

static void close_side(struct side *side)
{
    ufx_ucp_worker_destroy(side->worker);
    check(ufx_ucp_mem_unmap(side->context, side->mem), "mem_unmap");
    ufx_ucp_context_destroy(side->context);
}

static uint64_t word(unsigned page, unsigned at)
{
    return ((uint64_t)page << 32) + at + 1;
}

/* ---- The receiver ----------------------------------------------------------------------------*/

/* Whatever was put before the fence is in memory now. */
static ufx_status_t on_page(void *arg, const ufx_ucp_am_t *am)
{
    struct side *side = arg;
    unsigned page;
    if (am->header_length != sizeof(page)) {
        side->is_wrong = 1; /* never trust what comes from outside */
        return UFX_OK;
    }
    memcpy(&page, am->header, sizeof(page));
    side->is_wrong |= page != side->pages++; /* messages come once, in the order of sending */
    for (unsigned i = 0; page < PAGES && i < PAGE_WORDS; ++i) {
        side->is_wrong |= memory[page][i] != word(page, i);
    }
    return UFX_OK;
}

static void on_event(void *arg, ufx_ucp_ep_h ep, const ufx_ucp_ep_event_t *event)
{
    struct side *side = arg;
    (void)ep;
    side->is_wrong |= event->type == UFX_UCP_EP_EVENT_ERROR;
    side->is_over |= event->type != UFX_UCP_EP_EVENT_PEER_TRANSFERS_DEAD;
}

/* The sender has made an endpoint to this worker: this is its other end. */
static void on_accept(void *arg, ufx_ucp_ep_h ep)
{
    struct side *side = arg;
    side->is_met = 1;
    check(ufx_ucp_ep_set_event_cb(ep, on_event, side), "ep_set_event_cb");
}

static int receive(int channel)
{
    struct side side = {0};
    struct invitation invitation = {.address = (uintptr_t)memory};
    void *bytes;
    open_side(&side, on_accept);
    check(ufx_ucp_worker_set_am_handler(side.worker, PAGE_IS_THERE, on_page, &side), "handler");

    check(ufx_ucp_worker_get_address(side.worker, &bytes, &invitation.worker_length), "address");
    memcpy(invitation.worker, bytes, invitation.worker_length);
    ufx_ucp_worker_release_address(side.worker, bytes);
    check(ufx_ucp_rkey_pack(side.context, side.mem, &bytes, &invitation.rkey_length), "rkey_pack");
    memcpy(invitation.rkey, bytes, invitation.rkey_length);
    ufx_ucp_rkey_buffer_release(bytes);
    if (write(channel, &invitation, sizeof(invitation)) != (ssize_t)sizeof(invitation)) {
        return 1;
    }
    /* The endpoint tells how the sender ends. One that ended before it had an endpoint is known by
     * the channel, which is looked at after each sleep. */
    char end;
    while (!side.is_over && (side.is_met || recv(channel, &end, 1, MSG_DONTWAIT) != 0)) {
        turn(&side);
    }
    printf("receiver: %u of %d pages, %s\n", side.pages, PAGES,
           side.is_wrong ? "something is WRONG" : "each was there when its message came");
    close_side(&side);
    return side.pages == PAGES && !side.is_wrong ? 0 : 1;
}

/* ---- The sender ------------------------------------------------------------------------------*/

/* Waits for the end of what a call began; NULL if it had nothing to wait for. */
static void finish(struct side *side, ufx_ucp_request_h request, const char *what)
{
    if (request == NULL) {
        return;
    }
    while (ufx_ucp_request_check(request) == UFX_INPROGRESS) {
        turn(side);
    }
    check(ufx_ucp_request_check(request), what);
    ufx_ucp_request_free(request);
}

static int send_pages(int channel)
{
    struct side side = {0};
    struct invitation invitation;
    ufx_ucp_ep_h ep;
    ufx_ucp_rkey_h rkey;
    ufx_ucp_request_h request = NULL;
    if (recv(channel, &invitation, sizeof(invitation), MSG_WAITALL) !=
        (ssize_t)sizeof(invitation)) {
        return 1;
    }
    open_side(&side, NULL);
    const ufx_ucp_ep_params_t to_receiver = {
        .field_mask = UFX_UCP_EP_PARAM_ADDRESS,
        .address = invitation.worker,
        .address_length = invitation.worker_length,
    };
    check(ufx_ucp_ep_create(side.worker, &to_receiver, &ep), "ep_create");
    check(ufx_ucp_ep_rkey_unpack(ep, invitation.rkey, invitation.rkey_length, &rkey), "rkey");

    for (unsigned page = 0; page < PAGES; ++page) {
        for (unsigned i = 0; i < PAGE_WORDS; ++i) {
            memory[page][i] = word(page, i);
        }
        /* All three return at once. The page stays as it is until its put has completed; the
         * number is copied. */
        check(ufx_ucp_put(ep, memory[page], sizeof(memory[page]),
                          invitation.address + page * sizeof(memory[page]), rkey, NULL, NULL),
              "put");
        check(ufx_ucp_ep_fence(ep), "fence");
        check(ufx_ucp_am_send(ep, PAGE_IS_THERE, &page, sizeof(page), NULL, 0, NULL, NULL), "am");
    }
    check(ufx_ucp_ep_flush(ep, NULL, &request), "flush");
    finish(&side, request, "flush");
    printf("sender: all pages are there, and all messages delivered\n");
    ufx_ucp_rkey_destroy(rkey);
    request = NULL;
    check(ufx_ucp_ep_close(ep, UFX_UCP_CLOSE_FLUSH, NULL, &request), "close");
    finish(&side, request, "close");
    close_side(&side);
    return 0;
}

int main(void)
{
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel) != 0) {
        return 1;
    }
    const pid_t receiver = fork();
    if (receiver == 0) {
        close(channel[0]);
        return receive(channel[1]);
    }
    close(channel[1]);
    const int sent = send_pages(channel[0]);
    close(channel[0]);
    int status = 1;
    waitpid(receiver, &status, 0);
    return sent != 0 || status != 0;
}
