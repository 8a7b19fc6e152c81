/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A whole transport in C11 against the installed headers alone: an iface that reaches itself, with
 * put_short and put_zcopy. docs/writing-a-transport.md walks through it; the build of it outside of
 * the tree is a test.
 */
#include <ufx/uct_ops.h>

#include <stdlib.h>
#include <string.h>

#define LOOP_NAME "loop"
#define LOOP_QUEUE 16
#define LOOP_ADDR 0x6c6f6f70u

/* What is posted and not yet run; progress runs it in order. */
struct loop_put {
    void *to;
    ufx_uct_iov_t iov; /* one piece: max_iov is 1 */
    ufx_uct_completion_t *comp;
    int is_flush;
};

struct loop_ep {
    struct ufx_uct_ep super; /* the handle: must come first */
    struct loop_iface *iface;
    struct loop_ep *next; /* in the iface's list */
    void *user_data;
    struct loop_put queue[LOOP_QUEUE];
    unsigned first;
    unsigned count;
};

struct loop_iface {
    struct ufx_uct_iface super;
    ufx_uct_worker_h worker;
    struct loop_ep *eps;
    struct loop_ep *running; /* NULL once it was destroyed inside a completion */
    uint64_t posted;
    uint64_t completed;
};

extern const ufx_uct_component_t loop_component;

/* ---- Eps --------------------------------------------------------------------------------------*/

static struct loop_put *reserve(struct loop_ep *ep)
{
    if (ep->count == LOOP_QUEUE) {
        return NULL;
    }
    ++ep->iface->posted;
    return &ep->queue[(ep->first + ep->count++) % LOOP_QUEUE];
}

static ufx_status_t ep_put_short(ufx_uct_ep_h handle, const void *buffer, size_t length,
                                 uint64_t remote_addr, ufx_uct_rkey_t rkey)
{
    struct loop_ep *ep = (struct loop_ep *)handle;
    (void)rkey;
    if (length > 64) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (ep->count != 0) {
        return UFX_ERR_NO_RESOURCE; /* it may not overtake what is queued */
    }
    ++ep->iface->posted;
    ++ep->iface->completed;
    memcpy((void *)(uintptr_t)remote_addr, buffer, length);
    return UFX_OK;
}

static ufx_status_t ep_put_zcopy(ufx_uct_ep_h handle, const ufx_uct_iov_t *iov, size_t iov_count,
                                 uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                 ufx_uct_completion_t *comp)
{
    struct loop_put *put;
    (void)rkey;
    if (iov_count != 1) {
        return UFX_ERR_INVALID_PARAM;
    }
    put = reserve((struct loop_ep *)handle);
    if (put == NULL) {
        return UFX_ERR_NO_RESOURCE;
    }
    put->to = (void *)(uintptr_t)remote_addr;
    put->iov = iov[0];
    put->comp = comp;
    put->is_flush = 0;
    return UFX_INPROGRESS;
}

static ufx_status_t ep_flush(ufx_uct_ep_h handle, unsigned flags, ufx_uct_completion_t *comp)
{
    struct loop_ep *ep = (struct loop_ep *)handle;
    struct loop_put *flush;
    if ((flags & UFX_UCT_FLUSH_CANCEL) != 0) {
        return UFX_ERR_UNSUPPORTED;
    }
    if (ep->count == 0) {
        return UFX_OK;
    }
    if (comp == NULL) {
        return UFX_INPROGRESS;
    }
    flush = reserve(ep);
    if (flush == NULL) {
        return UFX_ERR_NO_RESOURCE;
    }
    flush->comp = comp;
    flush->is_flush = 1;
    return UFX_INPROGRESS;
}

static ufx_status_t ep_query(ufx_uct_ep_h handle, ufx_uct_ep_attr_t *attr)
{
    struct loop_ep *ep = (struct loop_ep *)handle;
    if ((attr->field_mask & UFX_UCT_EP_ATTR_STATE) != 0) {
        attr->state = UFX_UCT_EP_LIVE;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_USER_DATA) != 0) {
        attr->user_data = ep->user_data;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_TX_TOKEN) != 0) {
        attr->tx_token_len = 0;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_OUTSTANDING) != 0) {
        attr->outstanding_ops = ep->count;
        attr->outstanding_bytes = 0;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_PROGRESS) != 0) {
        attr->completed_ops = ep->iface->completed;
        attr->acked_bytes = 0;
        attr->network_unacked = 0;
        attr->srtt_ns = 0;
    }
    if ((attr->field_mask & UFX_UCT_EP_ATTR_LOCAL_NAME) != 0) {
        strcpy(attr->name, LOOP_NAME);
    }
    return UFX_OK;
}

static void ep_destroy(ufx_uct_ep_h handle)
{
    struct loop_ep *ep = (struct loop_ep *)handle;
    struct loop_ep **link = &ep->iface->eps;
    while (*link != ep) {
        link = &(*link)->next;
    }
    *link = ep->next;
    if (ep->iface->running == ep) {
        ep->iface->running = NULL;
    }
    free(ep);
}

/* What the transport does not have. */
static ufx_status_t ep_am_short(ufx_uct_ep_h ep, uint8_t id, uint64_t header, const void *payload,
                                size_t length)
{
    (void)ep, (void)id, (void)header, (void)payload, (void)length;
    return UFX_ERR_UNSUPPORTED;
}
static ssize_t ep_am_bcopy(ufx_uct_ep_h ep, uint8_t id, ufx_uct_pack_cb_t pack, void *arg,
                           unsigned flags)
{
    (void)ep, (void)id, (void)pack, (void)arg, (void)flags;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_am_zcopy(ufx_uct_ep_h ep, uint8_t id, const void *header,
                                size_t header_length, const ufx_uct_iov_t *iov, size_t iov_count,
                                unsigned flags, ufx_uct_completion_t *comp)
{
    (void)ep, (void)id, (void)header, (void)header_length, (void)iov, (void)iov_count;
    (void)flags, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ssize_t ep_put_bcopy(ufx_uct_ep_h ep, ufx_uct_pack_cb_t pack, void *arg,
                            uint64_t remote_addr, ufx_uct_rkey_t rkey)
{
    (void)ep, (void)pack, (void)arg, (void)remote_addr, (void)rkey;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_get_short(ufx_uct_ep_h ep, void *buffer, size_t length, uint64_t remote_addr,
                                 ufx_uct_rkey_t rkey, ufx_uct_completion_t *comp)
{
    (void)ep, (void)buffer, (void)length, (void)remote_addr, (void)rkey, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_get_bcopy(ufx_uct_ep_h ep, ufx_uct_unpack_cb_t unpack, void *arg,
                                 size_t length, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                 ufx_uct_completion_t *comp)
{
    (void)ep, (void)unpack, (void)arg, (void)length, (void)remote_addr, (void)rkey, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_get_zcopy(ufx_uct_ep_h ep, const ufx_uct_iov_t *iov, size_t iov_count,
                                 uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                 ufx_uct_completion_t *comp)
{
    (void)ep, (void)iov, (void)iov_count, (void)remote_addr, (void)rkey, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_atomic32_post(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint32_t operand,
                                     uint64_t remote_addr, ufx_uct_rkey_t rkey)
{
    (void)ep, (void)op, (void)operand, (void)remote_addr, (void)rkey;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_atomic64_post(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint64_t operand,
                                     uint64_t remote_addr, ufx_uct_rkey_t rkey)
{
    (void)ep, (void)op, (void)operand, (void)remote_addr, (void)rkey;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_atomic32_fetch(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint32_t operand,
                                      uint32_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                      ufx_uct_completion_t *comp)
{
    (void)ep, (void)op, (void)operand, (void)result, (void)remote_addr, (void)rkey, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_atomic64_fetch(ufx_uct_ep_h ep, ufx_uct_atomic_op_t op, uint64_t operand,
                                      uint64_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                      ufx_uct_completion_t *comp)
{
    (void)ep, (void)op, (void)operand, (void)result, (void)remote_addr, (void)rkey, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_atomic32_cswap(ufx_uct_ep_h ep, uint32_t compare, uint32_t swap,
                                      uint32_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                      ufx_uct_completion_t *comp)
{
    (void)ep, (void)compare, (void)swap, (void)result, (void)remote_addr, (void)rkey, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_atomic64_cswap(ufx_uct_ep_h ep, uint64_t compare, uint64_t swap,
                                      uint64_t *result, uint64_t remote_addr, ufx_uct_rkey_t rkey,
                                      ufx_uct_completion_t *comp)
{
    (void)ep, (void)compare, (void)swap, (void)result, (void)remote_addr, (void)rkey, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_pending_add(ufx_uct_ep_h ep, ufx_uct_pending_req_t *req)
{
    (void)ep, (void)req;
    return UFX_ERR_UNSUPPORTED;
}
static void ep_pending_purge(ufx_uct_ep_h ep, ufx_uct_pending_purge_cb_t cb, void *arg)
{
    (void)ep, (void)cb, (void)arg;
}
static ufx_status_t ep_fence(ufx_uct_ep_h ep)
{
    (void)ep;
    return UFX_OK; /* puts run in order */
}
static ufx_status_t ep_check(ufx_uct_ep_h ep, ufx_uct_completion_t *comp)
{
    (void)ep, (void)comp;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_get_address(ufx_uct_ep_h ep, void *addr)
{
    (void)ep, (void)addr;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_connect_to_ep(ufx_uct_ep_h ep, const void *device_addr,
                                     const void *iface_addr, const void *ep_addr)
{
    (void)ep, (void)device_addr, (void)iface_addr, (void)ep_addr;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_invalidate(ufx_uct_ep_h ep, ufx_uct_completion_t *quiet)
{
    (void)ep, (void)quiet;
    return UFX_ERR_UNSUPPORTED;
}
static ufx_status_t ep_outstanding_purge(ufx_uct_ep_h ep, ufx_uct_token_grade_t grade,
                                         const void *rx_token, size_t rx_token_length,
                                         ufx_uct_purge_cb_t cb, void *arg)
{
    (void)ep, (void)grade, (void)rx_token, (void)rx_token_length, (void)cb, (void)arg;
    return UFX_ERR_UNSUPPORTED;
}

static const ufx_uct_ep_ops_t loop_ep_ops = {
    .size = sizeof(ufx_uct_ep_ops_t),
    .am_short = ep_am_short,
    .am_bcopy = ep_am_bcopy,
    .am_zcopy = ep_am_zcopy,
    .put_short = ep_put_short,
    .put_bcopy = ep_put_bcopy,
    .put_zcopy = ep_put_zcopy,
    .get_short = ep_get_short,
    .get_bcopy = ep_get_bcopy,
    .get_zcopy = ep_get_zcopy,
    .atomic32_post = ep_atomic32_post,
    .atomic64_post = ep_atomic64_post,
    .atomic32_fetch = ep_atomic32_fetch,
    .atomic64_fetch = ep_atomic64_fetch,
    .atomic32_cswap = ep_atomic32_cswap,
    .atomic64_cswap = ep_atomic64_cswap,
    .pending_add = ep_pending_add,
    .pending_purge = ep_pending_purge,
    .flush = ep_flush,
    .fence = ep_fence,
    .check = ep_check,
    .get_address = ep_get_address,
    .connect_to_ep = ep_connect_to_ep,
    .query = ep_query,
    .invalidate = ep_invalidate,
    .outstanding_purge = ep_outstanding_purge,
    .destroy = ep_destroy,
};

/* ---- Iface ------------------------------------------------------------------------------------*/

static void iface_close(ufx_uct_iface_h handle)
{
    struct loop_iface *iface = (struct loop_iface *)handle;
    while (iface->eps != NULL) {
        ep_destroy(&iface->eps->super);
    }
    if (iface->worker != NULL) {
        iface->worker->ops->detach(iface->worker, handle);
    }
    free(iface);
}

static ufx_status_t iface_query(ufx_uct_iface_h handle, ufx_uct_iface_attr_t *attr)
{
    (void)handle;
    memset(attr, 0, sizeof(*attr));
    attr->caps = UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_PUT_ZCOPY | UFX_UCT_CAP_FLUSH |
                 UFX_UCT_CAP_FENCE | UFX_UCT_CAP_CONNECT_TO_IFACE | UFX_UCT_CAP_ORDERED;
    attr->put.max_short = 64;
    attr->put.max_zcopy = SIZE_MAX;
    attr->put.max_iov = 1;
    attr->iface_addr_len = sizeof(uint32_t);
    attr->mtu = 1;
    attr->max_outstanding = LOOP_QUEUE;
    attr->bandwidth = 1e9;
    attr->port_active = 1;
    return UFX_OK;
}

static ufx_status_t iface_query_stats(ufx_uct_iface_h handle, ufx_uct_iface_stats_t *stats)
{
    struct loop_iface *iface = (struct loop_iface *)handle;
    const struct loop_ep *ep;
    memset(stats, 0, sizeof(*stats));
    stats->posted = iface->posted;
    stats->completed = iface->completed;
    stats->outstanding_ops = iface->posted - iface->completed;
    for (ep = iface->eps; ep != NULL; ep = ep->next) {
        ++stats->eps;
    }
    return UFX_OK;
}

static ufx_status_t iface_get_device_address(ufx_uct_iface_h handle, void *addr)
{
    (void)handle, (void)addr;
    return UFX_OK; /* device_addr_len is 0 */
}

static ufx_status_t iface_get_address(ufx_uct_iface_h handle, void *addr)
{
    const uint32_t name = LOOP_ADDR;
    (void)handle;
    memcpy(addr, &name, sizeof(name));
    return UFX_OK;
}

static int iface_is_reachable(ufx_uct_iface_h handle, const void *device_addr,
                              const void *iface_addr)
{
    uint32_t name;
    (void)handle, (void)device_addr;
    memcpy(&name, iface_addr, sizeof(name));
    return name == LOOP_ADDR;
}

static unsigned run_ep(struct loop_iface *iface, struct loop_ep *ep)
{
    unsigned ran = 0;
    iface->running = ep;
    /* Only what is there now: a completion that posts gets its turn in the next progress. */
    for (unsigned left = ep->count; left > 0; --left) {
        const struct loop_put put = ep->queue[ep->first];
        ep->first = (ep->first + 1) % LOOP_QUEUE;
        --ep->count;
        if (!put.is_flush) {
            memcpy(put.to, put.iov.buffer, put.iov.length);
        }
        ++iface->completed;
        ++ran;
        if (put.comp != NULL && --put.comp->count == 0) {
            put.comp->func(put.comp);
        }
        if (iface->running == NULL) {
            break; /* the completion destroyed the ep */
        }
    }
    iface->running = NULL;
    return ran;
}

static unsigned iface_progress(ufx_uct_iface_h handle)
{
    struct loop_iface *iface = (struct loop_iface *)handle;
    for (struct loop_ep *ep = iface->eps; ep != NULL; ep = ep->next) {
        if (ep->count != 0) {
            return run_ep(iface, ep); /* one a call: the list may change meanwhile */
        }
    }
    return 0;
}

static ufx_status_t iface_event_fd_get(ufx_uct_iface_h handle, int *fd)
{
    (void)handle, (void)fd;
    return UFX_ERR_UNSUPPORTED;
}

static ufx_status_t iface_event_arm(ufx_uct_iface_h handle, unsigned events)
{
    (void)events;
    for (const struct loop_ep *ep = ((struct loop_iface *)handle)->eps; ep != NULL; ep = ep->next) {
        if (ep->count != 0) {
            return UFX_ERR_BUSY;
        }
    }
    return UFX_OK;
}

static ufx_status_t iface_flush(ufx_uct_iface_h handle, unsigned flags, ufx_uct_completion_t *comp)
{
    (void)flags, (void)comp;
    return iface_event_arm(handle, 0) == UFX_OK ? UFX_OK : UFX_ERR_UNSUPPORTED;
}

static ufx_status_t iface_fence(ufx_uct_iface_h handle)
{
    (void)handle;
    return UFX_OK;
}

static ufx_status_t iface_set_am_handler(ufx_uct_iface_h handle, uint8_t id, ufx_uct_am_cb_t cb,
                                         void *arg)
{
    (void)handle, (void)cb, (void)arg;
    return id < UFX_UCT_AM_ID_MAX ? UFX_ERR_UNSUPPORTED : UFX_ERR_INVALID_PARAM;
}

static void iface_release_desc(ufx_uct_iface_h handle, void *data)
{
    (void)handle, (void)data;
}

static ufx_status_t iface_query_token(ufx_uct_iface_h handle, const void *tx_token,
                                      size_t tx_token_length, void *rx_token,
                                      size_t *rx_token_length, ufx_uct_token_grade_t *grade)
{
    (void)handle, (void)tx_token, (void)tx_token_length, (void)rx_token, (void)rx_token_length;
    (void)grade;
    return UFX_ERR_UNSUPPORTED;
}

static ufx_status_t iface_set_link(ufx_uct_iface_h handle, int up)
{
    (void)handle, (void)up;
    return UFX_ERR_UNSUPPORTED;
}

static ufx_status_t iface_ep_create(ufx_uct_iface_h handle, const ufx_uct_ep_params_t *params,
                                    ufx_uct_ep_h *handle_out)
{
    struct loop_iface *iface = (struct loop_iface *)handle;
    struct loop_ep *ep;
    if (params == NULL || (params->field_mask & UFX_UCT_EP_PARAM_IFACE_ADDR) == 0) {
        return UFX_ERR_UNSUPPORTED;
    }
    if (!iface_is_reachable(handle, NULL, params->iface_addr)) {
        return UFX_ERR_NET_UNREACHABLE;
    }
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return UFX_ERR_NO_MEMORY;
    }
    ep->super.ops = &loop_ep_ops;
    ep->iface = iface;
    ep->next = iface->eps;
    if ((params->field_mask & UFX_UCT_EP_PARAM_USER_DATA) != 0) {
        ep->user_data = params->user_data;
    }
    iface->eps = ep;
    *handle_out = &ep->super;
    return UFX_OK;
}

static const ufx_uct_iface_ops_t loop_iface_ops = {
    .size = sizeof(ufx_uct_iface_ops_t),
    .close = iface_close,
    .query = iface_query,
    .query_stats = iface_query_stats,
    .get_device_address = iface_get_device_address,
    .get_address = iface_get_address,
    .is_reachable = iface_is_reachable,
    .progress = iface_progress,
    .event_fd_get = iface_event_fd_get,
    .event_arm = iface_event_arm,
    .flush = iface_flush,
    .fence = iface_fence,
    .set_am_handler = iface_set_am_handler,
    .release_desc = iface_release_desc,
    .query_token = iface_query_token,
    .set_link = iface_set_link,
    .ep_create = iface_ep_create,
};

/* ---- Memory domain and component --------------------------------------------------------------*/

static void md_close(ufx_uct_md_h md)
{
    free(md);
}

static ufx_status_t md_query(ufx_uct_md_h md, ufx_uct_md_attr_t *attr)
{
    (void)md;
    memset(attr, 0, sizeof(*attr));
    attr->flags = UFX_UCT_MD_FLAG_REG;
    attr->max_reg = SIZE_MAX;
    attr->reg_mem_types = 1u << UFX_UCT_MEMORY_TYPE_HOST;
    attr->access_flags = UFX_UCT_MEM_ACCESS_ALL;
    return UFX_OK;
}

static ufx_status_t md_query_resources(ufx_uct_md_h md, ufx_uct_resource_t *resources,
                                       size_t *count)
{
    const size_t room = *count;
    (void)md;
    *count = 1;
    if (resources == NULL) {
        return UFX_OK;
    }
    if (room < 1) {
        return UFX_ERR_BUFFER_TOO_SMALL;
    }
    memset(resources, 0, sizeof(*resources));
    strcpy(resources->tl_name, LOOP_NAME);
    strcpy(resources->dev_name, "memory");
    resources->dev_type = UFX_UCT_DEVICE_SELF;
    resources->numa_node = -1;
    return UFX_OK;
}

static ufx_status_t md_mem_reg(ufx_uct_md_h md, const ufx_uct_mem_params_t *params,
                               ufx_uct_mem_h *memh)
{
    const uint64_t required = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
    (void)md;
    if ((params->field_mask & required) != required || params->length == 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    if ((params->field_mask & UFX_UCT_MEM_PARAM_DMABUF) != 0 ||
        ((params->field_mask & UFX_UCT_MEM_PARAM_MEMORY_TYPE) != 0 &&
         params->memory_type != UFX_UCT_MEMORY_TYPE_HOST)) {
        return UFX_ERR_UNSUPPORTED;
    }
    *memh = params->address;
    return UFX_OK;
}

static ufx_status_t md_mem_dereg(ufx_uct_md_h md, ufx_uct_mem_h memh)
{
    (void)md, (void)memh;
    return UFX_OK;
}

static ufx_status_t md_mem_alloc(ufx_uct_md_h md, const ufx_uct_mem_params_t *params,
                                 ufx_uct_allocated_memory_t *mem)
{
    (void)md, (void)params, (void)mem;
    return UFX_ERR_UNSUPPORTED;
}

static ufx_status_t md_mem_free(ufx_uct_md_h md, const ufx_uct_allocated_memory_t *mem)
{
    (void)md, (void)mem;
    return UFX_ERR_UNSUPPORTED;
}

static ufx_status_t md_mkey_pack(ufx_uct_md_h md, ufx_uct_mem_h memh, void *buffer)
{
    (void)md, (void)memh, (void)buffer;
    return UFX_OK; /* rkey_packed_size is 0 */
}

static ufx_status_t md_rkey_unpack(ufx_uct_md_h md, const void *buffer, size_t length,
                                   ufx_uct_rkey_bundle_t *rkey)
{
    (void)md, (void)buffer;
    if (length != 0) {
        return UFX_ERR_BAD_MESSAGE;
    }
    memset(rkey, 0, sizeof(*rkey));
    return UFX_OK;
}

static void md_rkey_release(ufx_uct_md_h md, const ufx_uct_rkey_bundle_t *rkey)
{
    (void)md, (void)rkey;
}

static ufx_status_t md_iface_open(ufx_uct_md_h md, const ufx_uct_iface_params_t *params,
                                  ufx_uct_iface_h *handle)
{
    const uint64_t required = UFX_UCT_IFACE_PARAM_TL_NAME | UFX_UCT_IFACE_PARAM_DEV_NAME;
    struct loop_iface *iface;
    (void)md;
    if (params == NULL || (params->field_mask & required) != required) {
        return UFX_ERR_INVALID_PARAM;
    }
    if (strcmp(params->tl_name, LOOP_NAME) != 0 || strcmp(params->dev_name, "memory") != 0) {
        return UFX_ERR_NO_DEVICE;
    }
    iface = calloc(1, sizeof(*iface));
    if (iface == NULL) {
        return UFX_ERR_NO_MEMORY;
    }
    iface->super.ops = &loop_iface_ops;
    if ((params->field_mask & UFX_UCT_IFACE_PARAM_WORKER) != 0 && params->worker != NULL) {
        ufx_status_t status = params->worker->ops->attach(params->worker, &iface->super);
        if (status != UFX_OK) {
            free(iface);
            return status;
        }
        iface->worker = params->worker;
    }
    *handle = &iface->super;
    return UFX_OK;
}

static const ufx_uct_md_ops_t loop_md_ops = {
    .size = sizeof(ufx_uct_md_ops_t),
    .close = md_close,
    .query = md_query,
    .query_resources = md_query_resources,
    .mem_reg = md_mem_reg,
    .mem_dereg = md_mem_dereg,
    .mem_alloc = md_mem_alloc,
    .mem_free = md_mem_free,
    .mkey_pack = md_mkey_pack,
    .rkey_unpack = md_rkey_unpack,
    .rkey_release = md_rkey_release,
    .iface_open = md_iface_open,
};

static ufx_status_t component_query_mds(ufx_uct_md_resource_t *resources, size_t *count)
{
    const size_t room = *count;
    *count = 1;
    if (resources == NULL) {
        return UFX_OK;
    }
    if (room < 1) {
        return UFX_ERR_BUFFER_TOO_SMALL;
    }
    strcpy(resources->md_name, LOOP_NAME);
    return UFX_OK;
}

static ufx_status_t component_md_open(const char *md_name, const ufx_uct_md_params_t *params,
                                      ufx_uct_md_h *handle)
{
    struct ufx_uct_md *md;
    (void)params;
    if (md_name == NULL || strcmp(md_name, LOOP_NAME) != 0) {
        return UFX_ERR_NO_DEVICE;
    }
    md = calloc(1, sizeof(*md));
    if (md == NULL) {
        return UFX_ERR_NO_MEMORY;
    }
    md->ops = &loop_md_ops;
    md->component = &loop_component;
    *handle = md;
    return UFX_OK;
}

static const ufx_uct_config_row_t *component_config_rows(size_t *count)
{
    *count = 0;
    return NULL;
}

const ufx_uct_component_t loop_component = {
    .size = sizeof(ufx_uct_component_t),
    .name = LOOP_NAME,
    .query_md_resources = component_query_mds,
    .md_open = component_md_open,
    .config_rows = component_config_rows,
};

/* ---- Module -----------------------------------------------------------------------------------*/

UFX_API ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *host,
                                         const ufx_uct_component_t **out);

ufx_status_t ufx_uct_module_init(uint32_t abi, const ufx_uct_host_t *host,
                                 const ufx_uct_component_t **out)
{
    if (abi != UFX_UCT_ABI_VERSION) {
        return UFX_ERR_VERSION;
    }
    if (host != NULL && host->log != NULL) {
        host->log(4 /* DEBUG */, "loop.c", __LINE__, "the loop transport is here");
    }
    *out = &loop_component;
    return UFX_OK;
}
